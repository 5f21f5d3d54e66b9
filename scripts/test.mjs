// `npm test`: everything the tests need, then vitest, then one plain line with the counts.
import { join } from "node:path";
import { closingLine } from "./closing-line.mjs";
import { makeReady } from "./make-ready.mjs";
import { readText, root } from "./packages.mjs";
import { exitOfGroup } from "./processes.mjs";
import { openReaper } from "./reaper.mjs";
import { say, step, stepsTaken } from "./steps.mjs";

/** Runs the tests that the arguments choose and gives the exit code. @param {readonly string[]} args */
export async function test(args) {
  const reaper = await openReaper();
  let result;
  try {
    result = await runTests(args, reaper);
  } finally {
    await reaper.close();
  }
  say(`Steps: ${stepsTaken().join(" · ")}`);
  process.stdout.write(`${result.counts}\n`);
  return result.code;
}

async function runTests(args, reaper) {
  const [tools, urls] = await makeReady(needServices(args), reaper);
  const environment = { ...process.env, ...tools, ...urls };
  return step("Running the tests", () => runVitest(args, environment, reaper));
}

/** Unit tests have neither network nor servers; anything else may want them. @param {readonly string[]} args */
function needServices(args) {
  const chosen = args.filter(
    (arg, index) => !arg.startsWith("-") && !/^(-t|--\w+)$/.test(args[index - 1] ?? ""),
  );
  return chosen.length === 0 || chosen.some((path) => !/(^|\/)test\/unit(\/|$)/.test(path));
}

async function runVitest(args, environment, reaper) {
  const report = join(reaper.folder, "report.json");
  const vitest = join(root, "node_modules", "vitest", "vitest.mjs");
  const reporters = hasReporter(args) ? [] : ["--reporter=default"];
  const ours = [...reporters, "--reporter=json", `--outputFile.json=${report}`];
  const options = { cwd: root, env: environment, stdio: ["ignore", "inherit", "inherit"] };
  // A group of its own: vitest's workers do not all end when vitest is ended.
  const leader = reaper.start(process.execPath, [vitest, "run", ...args, ...ours], options);
  const code = await exitOfGroup(leader);
  return { code, counts: closingLine(await readText(report), code) };
}

function hasReporter(args) {
  return args.some((arg) => arg.startsWith("--reporter"));
}
