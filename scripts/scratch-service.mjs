// A service of its own for commands that are tried: `framemill up` in a folder, on free ports.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { root } from "./packages.mjs";
import { Refusal } from "./steps.mjs";

const START_MS = 120_000;

/**
 * Starts it and waits until its address stands in the folder's .framemill/dev.json; `env` is of commands
 * that belong to it. @param {string} folder
 */
export async function startScratchService(folder) {
  const env = ownEnvironment(folder);
  const child = spawn(process.execPath, [join(root, "dist", "bin", "framemill.js"), "up"], {
    cwd: folder,
    env,
    stdio: ["ignore", "ignore", "inherit"],
  });
  const exited = once(child, "exit");
  const stop = async () => {
    child.kill("SIGTERM");
    await exited;
  };
  try {
    await untilStarted(child, join(folder, ".framemill", "dev.json"));
  } catch (error) {
    await stop();
    throw error;
  }
  return { env, stop };
}

/** Embedded, whatever servers the environment names. */
function ownEnvironment(folder) {
  const { AMQP_URL: _amqp, DATABASE_URL: _database, S3_BUCKET: _bucket, ...rest } = process.env;
  const free = { PORT: "0", GRPC_PORT: "0", WORKER_PORT: "0", LOG_LEVEL: "error" };
  return { ...rest, ...free, SCRATCH_DIR: join(folder, ".framemill", "scratch") };
}

async function untilStarted(child, devFile) {
  for (const deadline = performance.now() + START_MS; performance.now() < deadline;) {
    if (await readFile(devFile).catch(() => undefined)) return;
    if (child.exitCode !== null) break;
    await sleep(50);
  }
  throw new Refusal("framemill up did not start.");
}
