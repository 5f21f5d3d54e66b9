import { JobError, toJobError } from "../../core/errors.js";
import { type BatchLimits, createFairQueue, type Sized } from "./fair-queue.js";

export interface BatchRunnerOptions<Item> {
  readonly limits: BatchLimits;
  /** One row of numbers an item, in order. */
  runBatch(items: readonly Item[]): Promise<readonly Float32Array[]>;
  /** Batches that are computed side by side; 1 where absent. */
  readonly lanes?: number;
  /** Longest time that an idle runner collects requests that keep arriving; 3 ms where absent. */
  readonly maxWaitMs?: number;
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
const MAX_WAIT_MS = 3;
/** Fewer rows than this are not shared out among lanes. */
const SHARED_ROWS = 4;

export function createBatchRunner<Item extends Sized>(
  options: BatchRunnerOptions<Item>,
): BatchRunner<Item> {
  const { limits, lanes = 1, maxWaitMs = MAX_WAIT_MS } = options;
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
  const collect = createCollector({ size: () => queue.size, isFull, maxWaitMs, start: pump });
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
  readonly maxWaitMs: number;
  readonly start: () => void;
}): () => void {
  const { size, isFull, maxWaitMs, start } = parts;
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
    setImmediate(look, size(), performance.now() + maxWaitMs);
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
