import { setTimeout as sleep } from "node:timers/promises";
import { toJobError } from "../core/errors.js";
import type { WorkerOrders } from "../core/reports.js";

const INTERVAL_MS = 5_000;
/** A worker that leaves waits so long at most for the front to hear of it. */
const FAREWELL_MS = 1_000;

export interface PresenceOptions {
  /** Tells the front how this worker is doing now. */
  readonly announce: () => Promise<WorkerOrders>;
  readonly onOrders: (orders: WorkerOrders) => void;
  /** The front does not take this worker for one of its own any more. */
  readonly onRefused: (reason: string) => void;
}

export interface Presence {
  /** Announces once more and ends. */
  leave(): Promise<void>;
}

/**
 * Announces a worker every 5 s. Resolves after the first answer or, with the front away, after its
 * deadline: operators may want a worker drained that only now starts. Rejects where the front refuses it.
 */
export async function keepPresence(options: PresenceOptions): Promise<Presence> {
  const { announce, onOrders, onRefused } = options;
  const over = new AbortController();
  const tell = async () => {
    const orders = await announce().catch(throwRefusal);
    if (orders !== undefined && !over.signal.aborted) onOrders(orders);
  };
  await tell();
  const tellOn = async () => await tell().catch((thrown) => onRefused(toJobError(thrown).message));
  const telling = repeat(tellOn, over.signal);
  return {
    async leave() {
      over.abort();
      await telling;
      const farewell = announce().catch(() => undefined);
      await Promise.race([farewell, sleep(FAREWELL_MS, undefined, { ref: false })]);
    },
  };
}

/** A front that is away will be back. */
function throwRefusal(thrown: unknown): undefined {
  if (toJobError(thrown).code === "invalid_api_key") throw thrown;
}

async function repeat(tell: () => Promise<void>, signal: AbortSignal): Promise<void> {
  try {
    for (;;) {
      await sleep(INTERVAL_MS, undefined, { signal, ref: false });
      await tell();
    }
  } catch {
    // The sleep was aborted: the worker leaves.
  }
}
