import { isOutage } from "../errors.js";

interface Waiting<Item, Result> {
  readonly item: Item;
  readonly resolve: (result: Result) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Lets calls share round trips and transactions (group commit): a call that comes while a run is under
 * way waits for its end, and all that waited go as the next one. A lone call goes at once. `run`
 * resolves to one result an item, in their order; what fails it, but for an outage, is found by running
 * each item alone, so that one caller's error is nobody else's.
 */
export function groupCommit<Item, Result>(
  run: (items: readonly Item[]) => Promise<readonly Result[]>,
  /** Items of one run at most. */
  most: number,
): (item: Item) => Promise<Result> {
  const waiting: Waiting<Item, Result>[] = [];
  let running = false;
  const runAll = async (): Promise<void> => {
    running = true;
    while (waiting.length > 0) {
      const batch = waiting.splice(0, most);
      await settle(run, batch);
    }
    running = false;
  };
  return async (item) =>
    await new Promise<Result>((resolve, reject) => {
      waiting.push({ item, resolve, reject });
      if (!running) void runAll(); // its failures are its callers'
    });
}

async function settle<Item, Result>(
  run: (items: readonly Item[]) => Promise<readonly Result[]>,
  batch: readonly Waiting<Item, Result>[],
): Promise<void> {
  try {
    const results = await run(batch.map(({ item }) => item));
    for (const [index, { resolve, reject }] of batch.entries()) {
      const result = results[index];
      if (result === undefined)
        reject(new Error(`a run of ${batch.length} gave no result ${index}`));
      else resolve(result);
    }
  } catch (error) {
    const isShared = batch.length > 1 && !isOutage(error);
    if (isShared) await Promise.all(batch.map((one) => settle(run, [one])));
    else for (const { reject } of batch) reject(error);
  }
}
