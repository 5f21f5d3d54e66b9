import { flowSigmas } from "../diffusion/flow-euler.js";
import { gaussianNoise } from "../sampling/noise.js";
import type { MotionModel } from "./motion-model.js";
import type { ClipRequest } from "../video/family.js";

/** What does not change from step to step of the denoising of one clip. */
export interface DenoiseSchedule {
  readonly model: MotionModel;
  /** Text states [2, 8, 48]: of the prompt, then of the negative prompt. */
  readonly context: Float32Array;
  /** Canvas tokens [canvas tokens, channels] of the picture to animate: the first of the latents. */
  readonly picture: Float32Array | null;
  /** Where the latents begin, standard normal. */
  readonly noise: Float32Array;
  /** Of the latents: [tokens, channels]. */
  readonly dims: readonly [number, number];
  /** Noise levels from 1 to 0, one more than steps. */
  readonly sigmas: readonly number[];
  /** Of each step. */
  readonly guidances: readonly number[];
}

export interface ScheduleInput extends Pick<DenoiseSchedule, "model" | "context" | "picture"> {
  readonly request: ClipRequest;
}

export function planSchedule({ request, ...given }: ScheduleInput): DenoiseSchedule {
  const { sampler, shapes } = given.model.settings;
  const length = latentLength(given.model, request);
  const guidances = Array.from({ length: sampler.steps }, (_, step) => {
    const fraction = step === 0 ? sampler.firstStepGuidanceFraction : 1;
    return 1 + (sampler.guidance - 1) * fraction;
  });
  return {
    ...given,
    noise: gaussianNoise(request.seed, length),
    dims: [length / shapes.channels, shapes.channels],
    sigmas: flowSigmas(sampler.steps, sampler.shift),
    guidances,
  };
}

/** Numbers of a clip's latents. */
export function latentLength(
  { settings: { shapes } }: MotionModel,
  { seconds }: ClipRequest,
): number {
  return (shapes.stillTokens + seconds * shapes.latentsPerSecond) * shapes.channels;
}
