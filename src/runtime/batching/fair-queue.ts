/** A piece of work whose cost is its length: tokens of a text, patches of a picture. */
export interface Sized {
  readonly length: number;
}

export interface BatchLimits {
  /** Most rows × longest length of a batch; a longer item runs alone. */
  readonly maxPadded: number;
  /** Most rows. */
  readonly maxRows: number;
  /** Waiting lengths that an idle device need not wait to see grow. */
  readonly worthwhile: number;
  /** Whether rows of a batch must have one length: the model cannot tell padding. */
  readonly equalLengths: boolean;
}

export interface FairQueue<Item extends Sized> {
  readonly size: number;
  /** Sum of the waiting items' lengths. */
  readonly totalLength: number;
  /** Adds the items of one job. */
  add(items: readonly Item[]): void;
  /** Removes and returns the next batch of at most `maxRows`, shortest first; empty when nothing waits. */
  takeBatch(maxRows: number): Item[];
  /** Drops the items that do not pass. */
  keep(isWanted: (item: Item) => boolean): void;
}

interface Waiting<Item> {
  readonly item: Item;
  /** Virtual time at which its job has had its fair share. */
  readonly due: number;
}

/** Batches of lengths to look through for neighbours in length. */
const POOL_BATCHES = 4;

/**
 * Waiting items in the order of start-time fair queueing (Goyal et al., 1996), so that a small job does
 * not wait for all of a big one. A batch is the item that is due first with its neighbours in length.
 */
export function createFairQueue<Item extends Sized>(limits: BatchLimits): FairQueue<Item> {
  let waiting: Waiting<Item>[] = [];
  let now = 0;
  let isSorted = true;
  let totalLength = 0;

  const takePool = (): Waiting<Item>[] => {
    let length = 0;
    let count = 0;
    while (count < waiting.length && length < POOL_BATCHES * limits.maxPadded)
      length += waiting[count++]?.item.length ?? 0;
    return waiting.slice(0, count);
  };
  return {
    get size() {
      return waiting.length;
    },
    get totalLength() {
      return totalLength;
    },
    add(items) {
      let due = now;
      for (const item of items) {
        waiting.push({ item, due });
        due += item.length;
        totalLength += item.length;
      }
      isSorted = false;
    },
    takeBatch(maxRows) {
      if (!isSorted) waiting.sort((a, b) => a.due - b.due);
      isSorted = true;
      const [first] = waiting;
      if (first === undefined) return [];
      now = first.due;
      const pool = takePool();
      const sorted = pool.toSorted((a, b) => a.item.length - b.item.length);
      const taken = new Set(
        neighbours(sorted, sorted.indexOf(first), {
          ...limits,
          maxRows: Math.min(maxRows, limits.maxRows),
        }),
      );
      waiting = [...pool.filter((one) => !taken.has(one)), ...waiting.slice(pool.length)];
      for (const { item } of taken) totalLength -= item.length;
      return [...taken].map(({ item }) => item);
    },
    keep(isWanted) {
      waiting = waiting.filter(({ item }) => isWanted(item));
      totalLength = waiting.reduce((sum, { item }) => sum + item.length, 0);
    },
  };
}

/** Grows from one place to the side that differs less in length, while the padded rows fit. */
function neighbours<Item extends Sized>(
  sorted: readonly Waiting<Item>[],
  start: number,
  { maxPadded, maxRows, equalLengths }: BatchLimits,
): Waiting<Item>[] {
  const lengthAt = (index: number) => sorted[index]?.item.length ?? Number.NaN;
  const middle = lengthAt(start);
  let from = start;
  let to = start;
  for (;;) {
    const below = middle - lengthAt(from - 1);
    const above = lengthAt(to + 1) - middle;
    const goesUp = !(below <= above) && above >= 0;
    const step = goesUp ? above : below;
    const longest = goesUp ? lengthAt(to + 1) : lengthAt(to);
    const rows = to - from + 2;
    if (Number.isNaN(step) || rows > maxRows || rows * longest > maxPadded) break;
    if (equalLengths && step !== 0) break;
    if (goesUp) to += 1;
    else from -= 1;
  }
  return sorted.slice(from, to + 1);
}
