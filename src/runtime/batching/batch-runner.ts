import { JobError, toJobError } from "../../core/errors.js";

export interface BatchRunnerOptions<Item> {
  readonly limits: BatchLimits;
  /** One row of numbers an item, in order. */
  runBatch(items: readonly Item[]): Promise<readonly Float32Array[]>;
  /** Batches that are computed side by side; 1 by default. */
  readonly lanes?: number;
}

/** Rows for the items of many concurrent jobs, computed together. */
export interface BatchRunner<Item> {
  /** Rows in the order of the items. A job that fails or is aborted leaves the others unharmed. */
  readonly run: (items: readonly Item[], signal: AbortSignal) => Promise<Float32Array[]>;
  /** Fails what still waits. */
  close(): void;
}

interface BatchJob {
  readonly rows: Float32Array[];
  readonly count: number;
  filled: number;
  isOver: boolean;
  readonly finish: (error?: unknown) => void;
}

interface Entry<Item> extends Sized {
  readonly item: Item;
  readonly index: number;
  readonly job: BatchJob;
}

/** One lane prepares a second batch while one runs, if it is full: an unfilled one may still grow. */
const MAX_IN_FLIGHT = 2;
/** Several lanes share the rows so that as many wait as are computed: neighbours in length are found there. */
const SHARES_PER_LANE = 2;
/** Longest time that an idle runner collects requests that keep arriving. */
const MAX_WAIT_MS = 3;
/** Fewer rows than this are not shared out among lanes. */
const SHARED_ROWS = 4;

export function createBatchRunner<Item extends Sized>(
  options: BatchRunnerOptions<Item>,
): BatchRunner<Item> {
  const { limits, lanes = 1 } = options;
  const queue = createFairQueue<Entry<Item>>(limits);
  const open = new Set<BatchJob>();
  /** Batches that may be in flight: of several lanes none waits for its next. */
  const slots = lanes === 1 ? 1 : lanes + 1;
  const shares = lanes === 1 ? 1 : lanes * SHARES_PER_LANE;
  let inFlight = 0;
  let rowsInFlight = 0;
  let isClosed = false;

  const isFull = () => queue.totalLength >= limits.maxPadded || queue.size >= limits.maxRows;
  const mayStart = () =>
    queue.size > 0 && (inFlight < slots || (inFlight < slots - 1 + MAX_IN_FLIGHT && isFull()));
  const shareOf = () => Math.max(SHARED_ROWS, Math.ceil((queue.size + rowsInFlight) / shares));
  const pump = () => {
    while (mayStart()) {
      const batch = queue.takeBatch(shareOf());
      inFlight += 1;
      rowsInFlight += batch.length;
      void runAlive(batch, options).finally(() => {
        inFlight -= 1;
        rowsInFlight -= batch.length;
        pump();
      });
    }
  };
  const collect = createCollector({ size: () => queue.size, isFull, start: pump });
  const endJob = (job: BatchJob, isDone: boolean) => {
    open.delete(job);
    if (!isDone) queue.keep((entry) => entry.job !== job);
  };
  return {
    async run(items, signal) {
      signal.throwIfAborted();
      if (isClosed) throw closedError();
      if (items.length === 0) return [];
      return await new Promise((resolve, reject) => {
        const job = createJob({ count: items.length, signal, resolve, reject, onEnd: endJob });
        open.add(job);
        queue.add(items.map((item, index) => ({ item, index, job, length: item.length })));
        if (inFlight >= slots || queue.totalLength >= lanes * limits.worthwhile) pump();
        else collect();
      });
    },
    close() {
      isClosed = true;
      for (const job of open) job.finish(closedError());
    },
  };
}

function createJob(parts: {
  readonly count: number;
  readonly signal: AbortSignal;
  readonly resolve: (rows: Float32Array[]) => void;
  readonly reject: (error: unknown) => void;
  readonly onEnd: (job: BatchJob, isDone: boolean) => void;
}): BatchJob {
  const { count, signal, resolve, reject, onEnd } = parts;
  const abort = () => job.finish(signal.reason);
  const job: BatchJob = {
    rows: [],
    count,
    filled: 0,
    isOver: false,
    finish(error) {
      if (job.isOver) return;
      job.isOver = true;
      signal.removeEventListener("abort", abort);
      const isDone = job.filled === count;
      onEnd(job, isDone);
      if (isDone) resolve(job.rows);
      else reject(error);
    },
  };
  signal.addEventListener("abort", abort, { once: true });
  return job;
}

/** Waits while each turn of the event loop brings more, but neither long nor for more than fills a batch. */
function createCollector(parts: {
  readonly size: () => number;
  readonly isFull: () => boolean;
  readonly start: () => void;
}): () => void {
  const { size, isFull, start } = parts;
  let isWaiting = false;
  const look = (known: number, endsAt: number) => {
    const found = size();
    if (found > known && !isFull() && performance.now() < endsAt) {
      setImmediate(look, found, endsAt);
      return;
    }
    isWaiting = false;
    start();
  };
  return () => {
    if (isWaiting) return;
    isWaiting = true;
    setImmediate(look, size(), performance.now() + MAX_WAIT_MS);
  };
}

/** Runs a batch; one that fails is halved until the item at fault is alone. */
async function runAlive<Item extends Sized>(
  batch: readonly Entry<Item>[],
  options: BatchRunnerOptions<Item>,
): Promise<void> {
  const entries = batch.filter(({ job }) => !job.isOver);
  if (entries.length === 0) return;
  try {
    const rows = await options.runBatch(entries.map(({ item }) => item));
    for (const [at, entry] of entries.entries()) deliver(entry, rows[at]);
  } catch (thrown) {
    const [only, ...more] = entries;
    if (more.length === 0) return only?.job.finish(toJobError(thrown));
    const half = Math.ceil(entries.length / 2);
    await runAlive(entries.slice(0, half), options);
    await runAlive(entries.slice(half), options);
  }
}

function deliver({ job, index }: Entry<unknown>, row: Float32Array | undefined): void {
  if (row === undefined || !isFiniteRow(row)) {
    const message = "the model returned numbers that are not finite";
    return job.finish(new JobError("invalid_output", message));
  }
  job.rows[index] = row;
  job.filled += 1;
  if (job.filled === job.count) job.finish();
}

function isFiniteRow(row: Float32Array): boolean {
  for (const value of row) if (!Number.isFinite(value)) return false;
  return true;
}

function closedError(): JobError {
  return new JobError("service_unavailable", "the model is being closed");
}

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

interface FairQueue<Item extends Sized> {
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
