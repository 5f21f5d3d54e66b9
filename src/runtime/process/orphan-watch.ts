/** Thread of an inference process that may outlive its worker: kills it where that left it hung, since nothing else would. */
import { workerData } from "node:worker_threads";
import { isProcessAlive } from "../../core/processes.js";

const LOOK_MS = 1_000;
const MOST_MISSES = 8;

// standing.ts starts this thread and gives it nothing else: [beats of the event loop, the worker's process].
// oxlint-disable-next-line typescript/no-unsafe-type-assertion
const cells = workerData as Int32Array;
let last = 0;
let misses = 0;

setInterval(() => {
  const beats = Atomics.load(cells, 0);
  misses = beats === last && !isProcessAlive(Atomics.load(cells, 1)) ? misses + 1 : 0;
  last = beats;
  if (misses >= MOST_MISSES) process.kill(-process.pid, "SIGKILL");
}, LOOK_MS);
