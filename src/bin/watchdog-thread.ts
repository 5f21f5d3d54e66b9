/** The thread side of `watchdog.ts`. */
import { writeSync } from "node:fs";
import { hostname } from "node:os";
import { workerData } from "node:worker_threads";
import type { WatchdogSetup } from "./watchdog.js";

/** Looks in a row that must find no beat. */
const LOOKS_A_LIMIT = 10;
const FATAL = 60;
const STANDARD_ERROR = 2;

// watchdog.ts starts this thread and gives it nothing else.
// oxlint-disable-next-line typescript/no-unsafe-type-assertion
const { cells, limitMs, name } = workerData as WatchdogSetup;
let last = Atomics.load(cells, 0);
let misses = 0;

setInterval(() => {
  const beats = Atomics.load(cells, 0);
  const isDebugged = Atomics.load(cells, 1) === 1;
  misses = beats === last && !isDebugged ? misses + 1 : 0;
  last = beats;
  if (misses >= LOOKS_A_LIMIT) end();
}, limitMs / LOOKS_A_LIMIT);

/** The log is the other thread's, which does nothing any more: the line is written as pino writes it. */
function end(): void {
  const msg = `the event loop has stood still for ${limitMs / 1_000} s: this process ends, to be started again`;
  const line = {
    level: FATAL,
    time: Date.now(),
    pid: process.pid,
    hostname: hostname(),
    name,
    msg,
  };
  try {
    writeSync(STANDARD_ERROR, `${JSON.stringify(line)}\n`);
  } finally {
    // No thread but the one that stands can end the process in order.
    process.kill(process.pid, "SIGKILL");
  }
}
