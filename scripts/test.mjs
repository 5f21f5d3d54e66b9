// `npm test`, `npm run test:unit` and `npm run test:deep`: what each needs, then vitest, then one plain
// line with the counts.
import { existsSync } from "node:fs";
import { chmod, mkdir } from "node:fs/promises";
import { join } from "node:path";
import { closingLine } from "./closing-line.mjs";
import { makeReady } from "./make-ready.mjs";
import { installPackages, readText, root } from "./packages.mjs";
import { exitOfGroup } from "./processes.mjs";
import { openReaper } from "./reaper.mjs";
import { generateRpcTypes } from "./rpc-types.mjs";
import { say, step, stepsTaken } from "./steps.mjs";

/** A program that tests call, and the packages that bring it. */
const PROGRAMS = [
  ["openssl", "openssl"], // certificates of the TLS tests
  ["espeak-ng", "espeak-ng"], // phonemes of the speech tests
];
const CLIENT_PROGRAMS = [
  ...PROGRAMS,
  ["pip3", "python3-pip"],
  ["torchrun", "python3-torch"], // GuideLLM loads data with it; PyPI's comes with gigabytes of CUDA
];
const DEEP_PROGRAMS = [
  ...CLIENT_PROGRAMS,
  ["pocketsphinx_batch", "pocketsphinx", "pocketsphinx-en-us"], // hears what the starter voice says
  ["curl", "curl"], // examples
  ["jq", "jq"],
  ["faketime", "faketime"], // clocks of the chaos tests
  ["ip", "iproute2"], // and their hosts
  ["chromium", "chromium", "libvulkan1"], // the pages, and a Vulkan device in software
];

/** vitest's projects (vitest.config.ts) of each command. */
const QUICK = ["unit", "integration", "alone"];
const DEEP = ["deep", "embedded", "chaos", "deep-alone"];

/** The whole product, or the files that the arguments choose, wherever they are. @param {readonly string[]} args */
export async function test(args) {
  const paths = pathsOf(args);
  if (paths.length === 0)
    say(
      "Every test of the whole product: about five minutes on two cores. Some of it: npm test -- PATH",
    );
  else if (paths.every((path) => /(^|\/)test\/unit(\/|$)/.test(path))) return unit(args);
  const isDeep = paths.some((path) => path.includes("test/deep"));
  const programs = isDeep ? DEEP_PROGRAMS : PROGRAMS;
  return withServers(programs, args, isDeep ? DEEP.filter((name) => name !== "embedded") : QUICK);
}

/** Unit tests run from the sources: neither a build nor a server. @param {readonly string[]} args */
export async function unit(args) {
  await installPackages();
  generateRpcTypes();
  const reaper = await openReaper();
  try {
    return await runTests({ args, projects: ["unit"], environment: process.env, reaper });
  } finally {
    await reaper.close();
  }
}

/** What takes long; `--shard 2/4` runs a quarter of the files. @param {readonly string[]} args */
export async function deep(args) {
  say("Chaos, fuzz, starters, pages, documentation and benches: about half an hour on two cores.");
  const models = process.env["FRAMEMILL_TEST_MODELS"];
  if (!models || !existsSync(join(models, "INDEX.md")))
    say(
      "No published models: FRAMEMILL_TEST_MODELS names no folder of them, and their tests are counted as skipped.",
    );
  return withServers(DEEP_PROGRAMS, args, DEEP);
}

/** Stock clients and instruments, on a service that has everything embedded. @param {readonly string[]} args */
export async function clients(args) {
  return withServers(CLIENT_PROGRAMS, ["test/deep/clients", ...args], ["deep"], { servers: false });
}

async function withServers(programs, args, projects, { servers = true } = {}) {
  const reaper = await openReaper();
  try {
    const [tools, urls] = await makeReady({ servers, programs }, reaper);
    const environment = { ...process.env, ...tools, ...urls };
    return await runTests({ args, projects, environment, reaper });
  } finally {
    await reaper.close();
  }
}

async function runTests({ args, projects, environment, reaper }) {
  const chosen = projects.flatMap((name) => ["--project", name]);
  const { code, counts } = await step("Running the tests", () =>
    runVitest([...args, ...chosen], environment, reaper),
  );
  say(`Steps: ${stepsTaken().join(" · ")}`);
  process.stdout.write(`${counts}\n`);
  return code;
}

async function runVitest(args, environment, reaper) {
  const report = join(reaper.folder, "report.json");
  const vitest = join(root, "node_modules", "vitest", "vitest.mjs");
  const progress = join(root, "scripts", "progress-reporter.mjs");
  const reporters = hasReporter(args) ? [] : ["--reporter=default", `--reporter=${progress}`];
  const ours = [...reporters, "--reporter=json", `--outputFile.json=${report}`];
  const TMPDIR = join(reaper.folder, "tmp"); // what a killed process leaves goes with it
  await mkdir(TMPDIR);
  await chmod(TMPDIR, 0o1777); // open to all users, as the system's is
  const options = {
    cwd: root,
    env: { ...environment, TMPDIR },
    stdio: ["ignore", "inherit", "inherit"],
  };
  // A group of its own: vitest's workers do not all end when vitest is ended.
  const leader = reaper.start(process.execPath, [vitest, "run", ...args, ...ours], options);
  const code = await exitOfGroup(leader);
  return { code, counts: closingLine(await readText(report), code) };
}

function hasReporter(args) {
  return args.some((arg) => arg.startsWith("--reporter"));
}

/** The arguments that choose files: neither flags nor what follows a flag that takes a value. */
function pathsOf(args) {
  return args.filter(
    (arg, index) => !arg.startsWith("-") && !/^(-t|--\w+)$/.test(args[index - 1] ?? ""),
  );
}
