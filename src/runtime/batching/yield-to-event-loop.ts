import { setImmediate as nextTurn } from "node:timers/promises";

/** Longest time that one job keeps the event loop from the others. */
const TURN_MS = 5;

/** A pause for a loop over many texts: it lets other jobs work, and throws once the job is aborted. */
export function yieldToEventLoop(signal: AbortSignal): () => Promise<void> {
  let endsAt = performance.now() + TURN_MS;
  return async () => {
    if (performance.now() > endsAt) {
      await nextTurn();
      endsAt = performance.now() + TURN_MS;
    }
    signal.throwIfAborted();
  };
}

/** More characters than any text of one token has; it bounds the time of tokenising what is cut anyway. */
export const MOST_CHARACTERS_PER_TOKEN = 100;
