import { JobError } from "../../../core/errors.js";
import type { NoiseSource } from "../../sampling/noise.js";
import type { Level } from "./prediction.js";

export interface StepResult {
  /** Latents at the next noise level. */
  readonly sample: Float32Array;
  /** The clean latents that the model's output predicts at this step; what a preview decodes. */
  readonly clean: Float32Array;
}

/** What a multistep method remembers of the steps before: arrays of the sample's length, none is changed. */
export interface SchedulerMemory {
  save(): readonly Float32Array[];
  /** Goes on before step `index` with what was saved there; false where that is not what this method needs. */
  restore(index: number, saved: readonly Float32Array[]): boolean;
}

/**
 * The way from noise to latents for one sample: holds the history of a multistep method, so one sample,
 * one scheduler, each index once and in order. Arrays are flat and of one length; none is changed.
 */
export interface Scheduler {
  /** What the model is given at each step, mostly 999 down to 0; one run of the model each. */
  readonly timesteps: readonly number[];
  /** Standard deviation of the initial noise. */
  readonly initialNoiseSigma: number;
  /** The sample as the model wants to see it at this index. */
  scaleInput(sample: Float32Array, index: number): Float32Array;
  /** Shares of clean latents and noise in the sample before this step: what an edit begins with. */
  levelOf(index: number): Level;
  /** `output` is what the model said of `scaleInput(sample, index)`. */
  step(output: Float32Array, index: number, sample: Float32Array, noise: NoiseSource): StepResult;
  /** Absent where a step depends on nothing but its sample and its output. */
  readonly memory?: SchedulerMemory;
}

/** Throws `invalid_output` where a denoiser has lost its way. */
export function checkFinite(sample: Float32Array): void {
  if (sample.every(Number.isFinite)) return;
  throw new JobError("invalid_output", "the denoiser produced values that are not numbers");
}

/** Samples of unit variance, which the model reads as they are. */
export const UNSCALED = {
  initialNoiseSigma: 1,
  scaleInput: (sample: Float32Array) => sample,
} as const;

/** Memory that is the last outputs, latest first and `most` of them; `history` is filled in place. */
export function historyMemory(history: Float32Array[], most: number): SchedulerMemory {
  return {
    save: () => [...history],
    restore(index, saved) {
      if (saved.length !== Math.min(index, most)) return false;
      history.splice(0, history.length, ...saved);
      return true;
    },
  };
}

export interface SchedulerOptions {
  /** Steps to spread over the noise levels; the length of `sigmas` where those are given. */
  readonly steps: number;
  /** Index of the first step that is taken; 0 by default, further on where a picture is edited. */
  readonly begin?: number;
  /** Share of the levels, from the cleanest on, over which a consistency model spreads its steps; 1 by default. */
  readonly share?: number;
  /** Noise levels 1 to above 0 of a flow model, before its shift; instead of evenly spread ones. */
  readonly sigmas?: readonly number[];
  /** Shift of a flow scheduler with `use_dynamic_shifting`: grows with the number of image tokens. */
  readonly mu?: number;
}
