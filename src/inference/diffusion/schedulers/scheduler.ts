/** Where a scheduler's random values come from: the next `length` standard normal values. */
export type NoiseSource = (length: number) => Float32Array;

export interface StepResult {
  /** Latents at the next noise level. */
  readonly sample: Float32Array;
  /** The clean latents that the model's output predicts at this step; what a preview decodes. */
  readonly clean: Float32Array;
}

/**
 * The way from noise to latents for one sample: holds the history of a multistep method, so one sample,
 * one scheduler, each index once and in order. Arrays are flat and of one length; none is changed.
 */
export interface Scheduler {
  /** What the model is told at each step, mostly 999 down to 0; one run of the model each. */
  readonly timesteps: readonly number[];
  /** Standard deviation of the initial noise. */
  readonly initialNoiseSigma: number;
  /** The sample as the model wants to see it at this index. */
  scaleInput(sample: Float32Array, index: number): Float32Array;
  /** `output` is what the model said of `scaleInput(sample, index)`. */
  step(output: Float32Array, index: number, sample: Float32Array, noise: NoiseSource): StepResult;
}

export interface SchedulerOptions {
  /** Steps to spread over the noise levels; the length of `sigmas` where those are given. */
  readonly steps: number;
  /** Noise levels 1 to above 0 of a flow model, before its shift; instead of evenly spread ones. */
  readonly sigmas?: readonly number[];
  /** Shift of a flow scheduler with `use_dynamic_shifting`: grows with the number of image tokens. */
  readonly mu?: number;
}
