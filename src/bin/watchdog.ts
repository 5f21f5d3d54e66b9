import { url as inspectorUrl } from "node:inspector";
import { Worker } from "node:worker_threads";

/** What the watching thread is started with. */
export interface WatchdogSetup {
  /** [beats, 1 while a debugger may hold the loop], shared with the watched thread. */
  readonly cells: Int32Array;
  readonly limitMs: number;
  /** Of the log. */
  readonly name: string;
}

const BEATS_A_LIMIT = 20;
const LONGEST_BEAT_MS = 500;

/**
 * Ends the process where its event loop stands still for `limitMs`, since nothing in it could; whoever
 * supervises it starts it anew. A thread of its own counts the beats that fail to come, so that a machine
 * that slept has missed one of them only. 0 watches nothing.
 */
export function startWatchdog(limitMs: number, name: string): () => Promise<void> {
  if (limitMs === 0) return async () => {};
  const cells = new Int32Array(new SharedArrayBuffer(8));
  const beat = (): void => {
    Atomics.add(cells, 0, 1);
    Atomics.store(cells, 1, inspectorUrl() === undefined ? 0 : 1);
  };
  beat();
  const timer = setInterval(beat, Math.min(LONGEST_BEAT_MS, limitMs / BEATS_A_LIMIT)).unref();
  const workerData: WatchdogSetup = { cells, limitMs, name };
  const thread = new Worker(new URL("./watchdog-thread.js", import.meta.url), { workerData });
  thread.unref();
  return async () => {
    clearInterval(timer);
    await thread.terminate();
  };
}
