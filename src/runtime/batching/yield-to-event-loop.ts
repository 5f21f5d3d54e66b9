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

/** Starts a task for each item, with such pauses between them; their results in the items' order. */
export async function startEach<Item, Result>(
  items: readonly Item[],
  signal: AbortSignal,
  start: (item: Item) => Promise<Result>,
): Promise<Result[]> {
  const pause = yieldToEventLoop(signal);
  const started: Promise<Result>[] = [];
  for (const item of items) {
    await pause();
    const task = start(item);
    // The first failure is thrown below; those that come before it is awaited are its kind.
    task.catch(() => {});
    started.push(task);
  }
  return await Promise.all(started);
}

/** More characters than any text of one token has; it bounds the time of tokenising what is cut anyway. */
export const MOST_CHARACTERS_PER_TOKEN = 100;
