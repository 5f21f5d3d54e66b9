// Right after `git clone`, with only Node and npm: makes ready whatever a command needs, then runs it.
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { findFfmpeg } from "./ffmpeg.mjs";
import { build, installPackages, requireNode, root } from "./packages.mjs";
import { passThrough } from "./processes.mjs";
import { openReaper } from "./reaper.mjs";
import { Refusal, say, secondsSince, stepsTaken } from "./steps.mjs";

/** Suites that need no RabbitMQ and no Postgres. */
const PLAIN_SUITES = new Set([
  "media",
  "cold",
  "image",
  "audio",
  "live",
  "provenance",
  "runtime",
  "first-block-cache",
  "mlperf-video",
]);
/** The others. */
const SERVICE_SUITES = new Set(["all", "video", "queue", "text", "load", "soak", "peers"]);

const COMMANDS = {
  demo: (args) => runCli(["demo", ...args]),
  bench,
  framemill: runCli,
  test: async (args) => (await import("./test.mjs")).test(args),
  "test:unit": async (args) => (await import("./test.mjs")).unit(args),
  "test:deep": async (args) => (await import("./test.mjs")).deep(args),
  "test:clients": async (args) => (await import("./clients.mjs")).testClients(args),
  chaos,
  pack,
  check: async (args) => (await import("./check.mjs")).check(args),
};

/**
 * The short form is part of `npm run test:deep`, `--full` takes hours; `T26` chooses a promise, other
 * arguments choose files. Log, picture and verdicts go to CHAOS_OUT; one promise that is broken, or was not
 * tried, is a failure.
 */
async function chaos(args) {
  const folder = (process.env["CHAOS_OUT"] ??= join(root, ".framemill", "chaos"));
  process.env["CHAOS_FORM"] = args.includes("--full") ? "full" : "short";
  const chosen = args.filter((arg) => arg !== "--full");
  const { forgetVerdicts, printVerdicts, PROMISES } = await import("./verdicts.mjs");
  await forgetVerdicts(folder);
  const { test } = await import("./test.mjs");
  const promises = chosen.filter((arg) => PROMISES.includes(arg));
  const isWhole = chosen.length === 0;
  const code = await test([
    ...(isWhole || promises.length === chosen.length ? ["test/deep/chaos"] : []),
    ...(isWhole ? ["test/deep/fuzz"] : []),
    ...chosen.filter((arg) => !PROMISES.includes(arg)),
    ...(promises.length > 0 ? ["-t", `\\b(${promises.join("|")})\\b`] : []),
  ]);
  return (await printVerdicts(folder, isWhole ? PROMISES : promises)) ? code : code || 1;
}

/** What goes through the queue is measured on real servers, unless `--embedded` says otherwise. */
async function bench(args) {
  const suites = args.filter((arg) => SERVICE_SUITES.has(arg) || PLAIN_SUITES.has(arg));
  const needsThem = suites.length === 0 || suites.some((suite) => SERVICE_SUITES.has(suite));
  const withServices = needsThem && !args.includes("--embedded");
  const { makeReady } = await import("./make-ready.mjs");
  const reaper = await openReaper();
  try {
    const [tools, urls] = await makeReady(
      { servers: withServices, durable: suites.includes("peers") },
      reaper,
    );
    return await runCompiled(["bench", ...args], { ...tools, ...urls });
  } finally {
    await reaper.close();
  }
}

/** A tarball that `npx ./framemill-….tgz` runs: `npm pack` alone would pack what was compiled last, or nothing. */
async function pack(args) {
  await installPackages().then(build);
  return passThrough("npm", ["pack", "--ignore-scripts", "--loglevel=error", ...args], {
    cwd: root,
  });
}

/** Makes packages, compiled code and ffmpeg ready, then hands the terminal to the command line. */
async function runCli(args) {
  const started = performance.now();
  const [tools] = await Promise.all([findFfmpeg(), installPackages().then(build)]);
  if (stepsTaken().length > 0) say(`Ready in ${secondsSince(started)} s.`);
  return runCompiled(args, tools);
}

function runCompiled(args, environment) {
  const cli = join(root, "dist", "bin", "framemill.js");
  return passThrough(process.execPath, [cli, ...args], { env: { ...process.env, ...environment } });
}

async function main([name = "", ...args]) {
  const command = COMMANDS[name];
  if (!command)
    throw new Refusal(`Give one of ${Object.keys(COMMANDS).join(", ")}, not "${name}".`, 2);
  await requireNode();
  return command(args);
}

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  say(error instanceof Refusal ? error.message : error.stack);
  process.exitCode = error.exitCode ?? 1;
}
