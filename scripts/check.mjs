// `npm run check`: every rule a machine can hold the code to; `npm run check:fix` repairs what it can.
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { availableParallelism } from "node:os";
import { installPackages, root } from "./packages.mjs";
import { capture } from "./processes.mjs";
import { generateRpcTypes } from "./rpc-types.mjs";
import { Refusal, say, secondsSince } from "./steps.mjs";

const bin = (name) => join(root, "node_modules", ".bin", name);
const script = (name) => join(root, "scripts", name);

/** The slowest first, so that all are done as soon as can be. */
const CHECKS = [
  {
    name: "types",
    of: "src",
    command: [bin("tsc"), "-p", "tsconfig.json", "--noEmit", "--incremental", "false"],
  },
  { name: "types", of: "test, bench", command: [bin("tsc"), "-p", "test/tsconfig.json"] },
  { name: "types", of: "web", command: [bin("tsc"), "-p", "web/tsconfig.json"] },
  {
    name: "lint",
    command: [bin("oxlint"), "--deny-warnings", "src", "bench", "web", "test", "scripts"],
    fix: [bin("oxlint"), "--fix", "--deny-warnings", "src", "bench", "web", "test", "scripts"],
  },
  {
    name: "deploy",
    command: [process.execPath, script("check-deploy.mjs")],
    fix: [process.execPath, script("helm-chart.mjs")],
  },
  { name: "layers", command: [process.execPath, script("layers.mjs")] },
  { name: "dead code", command: [bin("knip")] },
  { name: "proto", command: [bin("buf"), "lint"], fix: [bin("buf"), "lint"] },
  { name: "format", command: [bin("oxfmt"), "--check", "."], fix: [bin("oxfmt"), "."] },
  { name: "docs", of: "links", command: [process.execPath, script("docs-links.mjs")] },
  {
    name: "docs",
    of: "settings",
    command: [process.execPath, script("settings-table.mjs"), "--check"],
    fix: [process.execPath, script("settings-table.mjs")],
  },
  {
    name: "docs",
    of: "reference",
    command: [process.execPath, script("api-reference.mjs"), "--check"],
    fix: [process.execPath, script("api-reference.mjs")],
  },
  { name: "docs", of: "commands", command: [process.execPath, script("docs-commands.mjs")] },
];

/** Runs the checks whose names are given, or all, and gives the exit code. @param {readonly string[]} args */
export async function check(args) {
  const repair = args.includes("--fix");
  const chosen = choose(args.filter((arg) => arg !== "--fix"));
  await installPackages();
  generateRpcTypes();
  // Repairs write files: one after the other, so that no check reads half of one.
  const results = await runAll(chosen, { repair, atOnce: repair ? 1 : availableParallelism() });
  for (const { output, title } of results.filter(({ code }) => code !== 0))
    process.stdout.write(`\n── ${title} ──\n${output.trimEnd()}\n`);
  process.stdout.write(`\n${table(results)}\n`);
  return results.some(({ code }) => code !== 0) ? 1 : 0;
}

function choose(names) {
  const known = new Set(CHECKS.map(({ name }) => name));
  const unknown = names.find((name) => !known.has(name));
  if (unknown)
    throw new Refusal(`There is no check "${unknown}", but ${[...known].join(", ")}.`, 2);
  return CHECKS.filter(({ name }) => names.length === 0 || names.includes(name));
}

/** Results in the order of the checks, a few running at a time. */
async function runAll(checks, { repair, atOnce }) {
  const results = [];
  const waiting = checks.entries();
  const runWaiting = async () => {
    for (const [index, one] of waiting) results[index] = await runOne(one, repair);
  };
  await Promise.all(Array.from({ length: atOnce }, runWaiting));
  return results;
}

async function runOne({ name, of, command, fix }, repair) {
  const started = performance.now();
  const [program, ...args] = (repair && fix) || command;
  const { code, output } = await capture(program, args, { cwd: root });
  const title = of ? `${name}: ${of}` : name;
  const seconds = secondsSince(started);
  say(`${title}: ${code === 0 ? "good" : "FAILED"} in ${seconds} s`);
  return { title, code, output, seconds };
}

function table(results) {
  const width = Math.max(...results.map(({ title }) => title.length));
  return results
    .map(
      ({ title, code, seconds }) =>
        `${title.padEnd(width)}  ${code === 0 ? "good  " : "FAILED"}  ${seconds.padStart(6)} s`,
    )
    .join("\n");
}
