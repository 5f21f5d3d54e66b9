import { setImmediate as nextTurn } from "node:timers/promises";
import { float32, type Tensors } from "../tensors/tensor.js";

/** Feeds or outputs of one sample's step: float32 values whose first dimension is the batch. */
export type Rows = Readonly<Record<string, RowTensor>>;

interface RowTensor {
  readonly data: Float32Array;
  /** Batch first. */
  readonly dims: readonly number[];
}

export interface StepBatch {
  /** One step of one sample; it joins the next run of samples of its shape. */
  run(feeds: Rows): Promise<Rows>;
}

export interface StepBatchOptions {
  readonly run: (feeds: Tensors) => Promise<Tensors>;
  /** Rows of one run at most, over all samples. */
  readonly maxRows: number;
}

interface Waiter {
  readonly feeds: Rows;
  readonly shape: string;
  readonly rows: number;
  readonly resolve: (outputs: Rows) => void;
  readonly reject: (reason: unknown) => void;
}

/**
 * Steps of several samples of one shape as one run of the denoiser, each at its own noise level: who
 * comes while a run is under way takes part in the next.
 */
export function createStepBatch({ run, maxRows }: StepBatchOptions): StepBatch {
  let waiting: readonly Waiter[] = [];
  let isRunning = false;
  const take = (): readonly Waiter[] => {
    const shape = waiting[0]?.shape;
    let rows = 0;
    const taken = waiting.filter((waiter, index) => {
      if (waiter.shape !== shape) return false;
      rows += waiter.rows;
      return index === 0 || rows <= maxRows;
    });
    waiting = waiting.filter((waiter) => !taken.includes(waiter));
    return taken;
  };
  const work = async () => {
    isRunning = true;
    for (let taken = take(); taken.length > 0; taken = take()) {
      await serve(run, taken);
      // Those just served ask for their next step within this turn.
      await nextTurn();
    }
    isRunning = false;
  };
  return {
    run: (feeds) =>
      new Promise((resolve, reject) => {
        waiting = [...waiting, { feeds, ...shapeOf(feeds), resolve, reject }];
        if (!isRunning) void work(); // tells its failures to those who wait
      }),
  };
}

/** A shared run that fails is made again for each sample: one that is at fault fails alone. */
async function serve(run: StepBatchOptions["run"], taken: readonly Waiter[]): Promise<void> {
  try {
    const outputs = await run(join(taken.map(({ feeds }) => feeds)));
    const parts = split(outputs, taken);
    taken.forEach(({ resolve }, index) => resolve(parts[index] ?? {}));
  } catch (thrown) {
    if (taken.length === 1) taken[0]?.reject(thrown);
    else for (const one of taken) await serve(run, [one]);
  }
}

function shapeOf(feeds: Rows): Pick<Waiter, "shape" | "rows"> {
  const shapes = Object.entries(feeds).map(([name, { dims }]) => [name, dims.slice(1)]);
  return { shape: JSON.stringify(shapes), rows: Object.values(feeds)[0]?.dims[0] ?? 0 };
}

function join(all: readonly Rows[]): Tensors {
  const names = Object.keys(all[0] ?? {});
  const joined = names.map((name) => {
    const parts = all.flatMap((feeds) => feeds[name] ?? []);
    const data = new Float32Array(parts.reduce((sum, part) => sum + part.data.length, 0));
    let at = 0;
    for (const part of parts) {
      data.set(part.data, at);
      at += part.data.length;
    }
    const rows = parts.reduce((sum, { dims }) => sum + (dims[0] ?? 0), 0);
    return [name, float32(data, [rows, ...(parts[0]?.dims.slice(1) ?? [])])] as const;
  });
  return Object.fromEntries(joined);
}

function split(outputs: Tensors, taken: readonly Waiter[]): Rows[] {
  let first = 0;
  return taken.map(({ rows }) => {
    const entries = Object.entries(outputs).map(([name, { data, dims }]) => {
      if (!(data instanceof Float32Array)) throw new TypeError(`${name} must be float32`);
      const size = data.length / (dims[0] ?? 1);
      const part = data.subarray(first * size, (first + rows) * size);
      return [name, { data: part, dims: [rows, ...dims.slice(1)] }] as const;
    });
    first += rows;
    return Object.fromEntries(entries);
  });
}
