import { type ChildProcess, fork } from "node:child_process";
import { constants } from "node:os";
import { fileURLToPath } from "node:url";
import type { Config } from "../config.js";
import type { Log } from "./log.js";

/** What a worker's process says to its supervisor. */
export type WorkerNotice = "ready" | "ended";

const MOST_CRASHES = 5;
const CRASH_WINDOW_MS = 600_000;
const ENTRY = fileURLToPath(new URL("./supervised-worker.js", import.meta.url));

/**
 * Runs a worker in a process of its own, and beside it the next one, which has read its code and waits: it
 * takes over when the worker is killed or crashes. Resolves once a worker has ended by itself, or was told
 * to by SIGTERM or SIGINT, with its exit code; with 1 after the sixth crash in ten minutes.
 */
export async function superviseWorker(config: Config, log: Log): Promise<number> {
  let crashedAtMs: number[] = [];
  let isStopping = false;
  let worker = openWorker();
  let next: SupervisedWorker | undefined;
  const pass = (signal: NodeJS.Signals) => {
    isStopping = true;
    worker.child.kill(signal);
  };
  for (const signal of ["SIGTERM", "SIGINT"] as const) process.on(signal, pass);
  try {
    for (;;) {
      worker.start(config, () => (next ??= openWorker()));
      const { code, signal, isOrderly } = await worker.exited;
      if (isOrderly || isStopping) return code ?? 128 + constants.signals[signal ?? "SIGKILL"];
      const now = performance.now();
      crashedAtMs = [...crashedAtMs.filter((at) => now - at < CRASH_WINDOW_MS), now];
      if (crashedAtMs.length > MOST_CRASHES) {
        log.error({ crashes: crashedAtMs.length }, "the worker crashes again and again, leaving");
        return 1;
      }
      log.warn({ code, signal }, "the worker was killed or crashed, the next one takes its place");
      worker = next ?? openWorker();
      next = undefined;
    }
  } finally {
    next?.child.kill("SIGKILL");
  }
}

interface SupervisedWorker {
  readonly child: ChildProcess;
  readonly exited: Promise<WorkerExit>;
  start(config: Config, onReady: () => void): void;
}

interface WorkerExit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  /** It came to its end, be that an error that it told. */
  readonly isOrderly: boolean;
}

function openWorker(): SupervisedWorker {
  // A group of its own: Ctrl-C reaches it through the supervisor alone.
  const child = fork(ENTRY, { detached: true, serialization: "advanced" });
  let isOrderly = false;
  let onReady = () => {};
  child.on("message", (notice: WorkerNotice) => {
    if (notice === "ready") onReady();
    else isOrderly = true;
  });
  const exited = new Promise<WorkerExit>((resolve) => {
    child.once("exit", (code, signal) => resolve({ code, signal, isOrderly }));
    child.on("error", () => {
      // One that has gone hears nothing, and its exit says so; one that never was has no exit.
      if (child.pid === undefined) resolve({ code: 1, signal: null, isOrderly });
    });
  });
  return {
    child,
    exited,
    start(config, whenReady) {
      onReady = whenReady;
      child.send(config);
    },
  };
}
