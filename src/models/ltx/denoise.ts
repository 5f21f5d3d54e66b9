import type { SchedulerConfig } from "../diffusion/schedulers/config.js";
import { createScheduler } from "../diffusion/schedulers/create-scheduler.js";
import { roundToEven } from "../diffusion/schedulers/levels.js";
import { checkFinite, type Scheduler } from "../diffusion/schedulers/scheduler.js";
import { gaussianNoise } from "../sampling/noise.js";
import type { DenoiseState } from "../video/checkpoint.js";
import type { ClipRequest } from "../video/video-model.js";
import type { Denoiser, LatentDims, PromptStates } from "./denoiser.js";
import type { LtxSettings } from "./settings.js";

interface DenoiseInput {
  readonly denoiser: Denoiser;
  readonly scheduler: Scheduler;
  /** Numbers of the latents, those of the sound included. */
  readonly length: number;
  readonly prompts: readonly [PromptStates, ...PromptStates[]];
  /** Tokens of the picture that the clip begins with, [rows × columns, features]. */
  readonly picture?: Float32Array | undefined;
  readonly seed: number;
  readonly signal: AbortSignal;
  /** Where an earlier attempt stopped. */
  readonly start?: DenoiseState | undefined;
}

/**
 * Tokens of the picture, then of its sound, from the seed's noise, yielding where they stand after each
 * step: the sound goes the same way as the picture, in the same runs.
 */
export async function* denoise(input: DenoiseInput): AsyncGenerator<DenoiseState, Float32Array> {
  const { denoiser, scheduler, prompts, picture, signal } = input;
  const isFirstFrameGiven = picture !== undefined;
  let { step, sample } = input.start ?? {
    step: 0,
    sample: gaussianNoise(input.seed, input.length),
  };
  sample = withPicture(sample, picture);
  while (step < scheduler.timesteps.length) {
    signal.throwIfAborted();
    const timestep = scheduler.timesteps[step] ?? 0;
    const output = await denoiser({ sample, timestep, prompts, isFirstFrameGiven });
    sample = withPicture(scheduler.step(output, step, sample, noNoise).sample, picture);
    checkFinite(sample);
    step += 1;
    yield { step, sample };
  }
  return sample;
}

/** The tokens, the first of which are the picture's. */
function withPicture(sample: Float32Array, picture: Float32Array | undefined): Float32Array {
  if (picture === undefined) return sample;
  const held = sample.slice();
  held.set(picture);
  return held;
}

function noNoise(): never {
  throw new TypeError("the scheduler of LTX-2 draws no noise");
}

/** Of FlowMatchEulerDiscreteScheduler by default; LTX-2 takes it for clips of every size. */
const MAX_SHIFT = 1.15;

/** The steps of one clip from noise to latents. Throws an error that names a scheduler that is not LTX-2's. */
export function planSchedule(config: SchedulerConfig, { sampler }: LtxSettings): Scheduler {
  const { className, stochastic_sampling: isStochastic } = config;
  if (className !== "FlowMatchEulerDiscreteScheduler" || isStochastic)
    throw new Error(
      `the scheduler of LTX-2 must be FlowMatchEulerDiscreteScheduler without stochastic_sampling, got ${className}`,
    );
  const { steps } = sampler;
  const sigmas = Array.from({ length: steps }, (_, index) => 1 - index / steps);
  return createScheduler(config, { steps, sigmas, mu: config.max_shift ?? MAX_SHIFT });
}

/**
 * The model's own frames are 1 + temporal stride × (latent frames − 1); a clip takes as many as it needs,
 * and its sound is as long as they are.
 */
export function latentDims(
  { shapes, picture, sound }: LtxSettings,
  { seconds }: Pick<ClipRequest, "seconds">,
): LatentDims {
  const { frameRate, native } = shapes;
  const frames = 1 + Math.ceil((seconds * frameRate - 1) / picture.temporalStride);
  const made = 1 + picture.temporalStride * (frames - 1);
  const [height, width] = native;
  return {
    frames,
    rows: height / picture.spatialStride,
    columns: width / picture.spatialStride,
    times: roundToEven((made / frameRate) * sound.latentsPerSecond),
  };
}

/** Numbers of a clip's latents: of the picture's tokens, and of the sound's behind them. */
export function latentLengths(
  { picture, sound }: LtxSettings,
  { frames, rows, columns, times }: LatentDims,
): { readonly picture: number; readonly sound: number } {
  return {
    picture: frames * rows * columns * picture.mean.length,
    sound: times * sound.mean.length,
  };
}
