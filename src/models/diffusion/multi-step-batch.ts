import { float32, floatsOf, type Tensors } from "../../runtime/tensors/tensor.js";
import { columnsOf } from "./columns.js";
import { createStepBatch, type StepBatch } from "../../runtime/batching/step-batch.js";

export interface MultiStepBatchOptions {
  /** Runs the sampler (`sampler-graph.ts`). */
  readonly run: (feeds: Tensors) => Promise<Tensors>;
  /** Clips of one run at most. */
  readonly maxRows: number;
  /** Monotonic milliseconds. */
  readonly nowMs: () => number;
}

/** One run takes at most about this long: between two of them jobs join, end or leave. */
const MOST_MS = 250;

/**
 * Several denoising steps in one run of the sampler, shared by clips of one shape: as many as fit the
 * time by the last run of that shape, and no more than each has left. A clip's `sigmas` [1, steps + 1]
 * and `guidances` [1, steps] begin at its next step and are filled up to one length for all; `left` [1]
 * says how many of them are steps. Outputs are `denoised`, and in `steps` [1] how many were taken.
 */
export function createMultiStepBatch({ run, maxRows, nowMs }: MultiStepBatchOptions): StepBatch {
  const msPerStep = new Map<string, number>();
  const runSteps = async (feeds: Tensors): Promise<Tensors> => {
    const shape = String(feeds["latents"]?.dims);
    const left = Math.min(...floatsOf(feeds, "left"));
    const fitting = Math.floor(MOST_MS / (msPerStep.get(shape) ?? Infinity));
    const steps = Math.min(left, Math.max(1, fitting));
    const startedAtMs = nowMs();
    const { denoised } = await run(shorten(feeds, steps));
    msPerStep.set(shape, (nowMs() - startedAtMs) / steps);
    if (denoised === undefined) throw new TypeError("the sampler has no output denoised");
    const rows = denoised.dims[0] ?? 0;
    return { denoised, steps: float32(new Float32Array(rows).fill(steps), [rows]) };
  };
  return createStepBatch({ run: runSteps, maxRows });
}

function shorten(feeds: Tensors, steps: number): Tensors {
  return {
    ...feeds,
    sigmas: columnsOf(feeds, "sigmas", [0, steps + 1]),
    guidances: columnsOf(feeds, "guidances", [0, steps]),
  };
}
