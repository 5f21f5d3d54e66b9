import { JobError } from "../../core/errors.js";
import { isEndState } from "../../core/job.js";
import type { Changes, JobRecord } from "../ledger/index.js";
import type { LookAtJob } from "./watched-jobs.js";

/** Notifications may be interrupted; the ledger is read again after this long anyway. */
export const POLL_MS = 2_000;
const MAX_WAIT_SECONDS = 60;

/** Milliseconds until all watchers of this front look again, so that one query serves them. */
export function untilPoll(nowMs: number): number {
  return POLL_MS - (nowMs % POLL_MS);
}

export interface WaitOptions {
  readonly jobId: string;
  readonly waitMs: number;
  readonly signal: AbortSignal;
  /** Monotonic milliseconds. */
  readonly now: () => number;
  readonly look: LookAtJob;
  /** Throws where the job was deleted. */
  readonly read: () => Promise<JobRecord>;
}

/** `?wait=SECONDS` in milliseconds; 0 when absent. */
export function parseWait(value: unknown): number {
  if (value === undefined) return 0;
  const seconds = typeof value === "string" && /^\d{1,2}$/.test(value) ? Number(value) : Infinity;
  if (seconds <= MAX_WAIT_SECONDS) return seconds * 1_000;
  throw new JobError("invalid_value", `wait must be 0 to ${MAX_WAIT_SECONDS} whole seconds`, {
    param: "wait",
  });
}

/** The job when it has ended, or as it is when the time is up. */
export async function waitForEnd(changes: Changes, options: WaitOptions): Promise<JobRecord> {
  const { jobId, waitMs, signal, now, look, read } = options;
  const endMs = now() + waitMs;
  const watch = changes.watch(jobId);
  try {
    for (;;) {
      const job = await look(jobId);
      const leftMs = endMs - now();
      const isOver = job === undefined || isEndState(job.state);
      if (isOver || leftMs <= 0 || signal.aborted) return await read();
      await watch.next(Math.min(leftMs, untilPoll(now())), signal);
    }
  } finally {
    watch.close();
  }
}
