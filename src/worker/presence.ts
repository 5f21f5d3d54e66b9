import { setTimeout as sleep } from "node:timers/promises";
import type { WorkerOrders } from "../core/reports.js";

const INTERVAL_MS = 5_000;
/** A worker that leaves waits so long at most for the front to hear of it. */
const FAREWELL_MS = 1_000;

export interface PresenceOptions {
  /** Tells the front how this worker is doing now. */
  readonly announce: () => Promise<WorkerOrders>;
  readonly onOrders: (orders: WorkerOrders) => void;
}

export interface Presence {
  /** Announces once more and ends. */
  leave(): Promise<void>;
}

/**
 * Announces a worker every 5 s. Resolves after the first answer or, with the front away, after its
 * deadline: operators may want a worker drained that only now starts.
 */
export async function keepPresence({ announce, onOrders }: PresenceOptions): Promise<Presence> {
  const over = new AbortController();
  const tell = async () => {
    const orders = await announce().catch(() => undefined);
    if (orders !== undefined && !over.signal.aborted) onOrders(orders);
  };
  await tell();
  const telling = repeat(tell, over.signal);
  return {
    async leave() {
      over.abort();
      await telling;
      const farewell = announce().catch(() => undefined);
      await Promise.race([farewell, sleep(FAREWELL_MS, undefined, { ref: false })]);
    },
  };
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
