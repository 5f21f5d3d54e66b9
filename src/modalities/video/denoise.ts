import { JobError } from "../../core/errors.js";
import { eulerStep, flowSigmas, guide } from "../../inference/diffusion/flow-euler.js";
import { gaussianNoise } from "../../inference/diffusion/noise.js";
import { float32, floatsOf, int64 } from "../../inference/tensor.js";
import { hashNgrams } from "../../inference/tokenizer.js";
import type { MotionModel, MotionSettings } from "./motion-model.js";
import type { VideoRequest } from "./request.js";

export interface DenoiseInput {
  readonly model: MotionModel;
  readonly request: VideoRequest;
  /** Text states [2, 8, 48]: of the prompt, then of the negative prompt. */
  readonly context: Float32Array;
  /** Background tokens [60, 64] of the picture to animate. */
  readonly picture: Float32Array | null;
  readonly signal: AbortSignal;
}

/** Text states [2, 8, 48] of the prompt and the negative prompt. */
export async function encodePrompts(
  { clip, settings }: MotionModel,
  request: VideoRequest,
): Promise<Float32Array> {
  const { words, idsPerWord } = settings.tokenizer;
  const ids = new BigInt64Array(2 * words * idsPerWord);
  ids.set(hashNgrams(request.prompt, settings.tokenizer), 0);
  ids.set(hashNgrams(request.negativePrompt, settings.tokenizer), words * idsPerWord);
  const input = int64(ids, [2, words, idsPerWord]);
  return floatsOf(await clip.run("text-encoder", { input_ids: input }), "last_hidden_state");
}

/**
 * Latents [1, seconds × latents a second, tokens, channels], yielding the step number after each
 * step: rectified flow by Euler steps with guidance, from the request's seed.
 */
export async function* denoise(input: DenoiseInput): AsyncGenerator<number, Float32Array> {
  const { model, request, context, picture, signal } = input;
  const { shapes, sampler } = model.settings;
  const steps = request.seconds * shapes.latentsPerSecond;
  const dims = [steps, shapes.tokens, shapes.channels];
  const length = steps * shapes.tokens * shapes.channels;
  const noise = gaussianNoise(request.seed, length);
  const sample = Float32Array.from(noise);
  const sigmas = flowSigmas(sampler.steps, sampler.shift);
  const states = float32(context, [2, 8, 48]);
  for (const [step, sigma] of sigmas.slice(0, -1).entries()) {
    signal.throwIfAborted();
    const batch = new Float32Array(2 * length);
    batch.set(sample, 0);
    batch.set(sample, length);
    const outputs = await model.clip.run("denoiser", {
      sample: float32(batch, [2, ...dims]),
      timestep: float32(Float32Array.of(sigma, sigma), [2]),
      encoder_hidden_states: states,
    });
    const guidance = guidanceAt(step, sampler);
    const next = sigmas[step + 1] ?? 0;
    eulerStep(sample, guide(floatsOf(outputs, "velocity"), guidance), next - sigma);
    if (picture) pullToPicture({ sample, noise, picture, sigma: next, shapes });
    yield step + 1;
  }
  if (!sample.every(Number.isFinite)) {
    throw new JobError("invalid_output", "the denoiser produced values that are not numbers");
  }
  return sample;
}

function guidanceAt(step: number, sampler: MotionSettings["sampler"]): number {
  const fraction = step === 0 ? sampler.firstStepGuidanceFraction : 1;
  return 1 + (sampler.guidance - 1) * fraction;
}

interface PictureStep {
  readonly sample: Float32Array;
  readonly noise: Float32Array;
  /** Background tokens [60, 64], the first of every latent step. */
  readonly picture: Float32Array;
  readonly sigma: number;
  readonly shapes: MotionSettings["shapes"];
}

/**
 * Moves the background tokens towards the picture at the present noise level: most in the first
 * latent step, less in each later one, so that the clip starts at the picture and then moves on.
 */
function pullToPicture({ sample, noise, picture, sigma, shapes }: PictureStep): void {
  const { firstPull, pullFrom, pullTo } = shapes.imageConditioning;
  const perStep = shapes.tokens * shapes.channels;
  const steps = sample.length / perStep;
  for (let step = 0; step < steps; step++) {
    const weight = step === 0 ? firstPull : between(pullFrom, pullTo, step / (steps - 1));
    for (let index = 0; index < picture.length; index++) {
      const at = step * perStep + index;
      const target = (1 - sigma) * (picture[index] ?? 0) + sigma * (noise[at] ?? 0);
      sample[at] = (sample[at] ?? 0) * (1 - weight) + target * weight;
    }
  }
}

/** Linear interpolation; `fraction` 0 gives `from`, 1 gives `to`. */
export function between(from: number, to: number, fraction: number): number {
  return from + (to - from) * fraction;
}
