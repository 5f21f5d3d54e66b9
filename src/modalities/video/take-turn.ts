import { setTimeout as sleep } from "node:timers/promises";
import { type PipelineEvent, WAITING } from "../../core/events.js";
import type { Mutex } from "../../core/async/mutex.js";

/** A job that waits says so this often, or it would count as hung, in milliseconds. */
const SIGN_MS = 5_000;

export interface Turn {
  readonly mutex: Mutex;
  /** Ends the waiting: its reason is thrown. */
  readonly signal: AbortSignal;
  /** Share of the job that is done, 0 to 1. */
  readonly fraction: number;
}

/** Waits until the mutex is free, telling of it and of how long it took; returns what leaves the mutex. */
export async function* takeTurn({
  mutex,
  signal,
  fraction,
}: Turn): AsyncGenerator<PipelineEvent<never>, () => void> {
  const since = performance.now();
  const entering = mutex.enter(signal);
  let handOver: (() => void) | undefined;
  try {
    for (let leave = await orLater(entering, 0); ; leave = await orLater(entering, SIGN_MS)) {
      if (leave === undefined) yield { type: "progress", stage: WAITING, fraction };
      else {
        yield { type: "waited", ms: performance.now() - since };
        return (handOver = leave);
      }
    }
  } finally {
    // Whoever stopped listening in the middle has no use for the turn.
    if (handOver === undefined)
      void entering.then(
        (leave) => leave(),
        () => {},
      );
  }
}

/** Undefined where the turn does not come within the time. */
async function orLater<T>(turn: Promise<T>, ms: number): Promise<T | undefined> {
  const over = new AbortController();
  const later = sleep(ms, undefined, { signal: over.signal }).catch(() => undefined);
  try {
    return await Promise.race([turn, later]);
  } finally {
    over.abort();
  }
}
