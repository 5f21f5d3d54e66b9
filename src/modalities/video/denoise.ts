import { JobError } from "../../core/errors.js";
import { eulerStep, flowSigmas, guide } from "../../inference/diffusion/flow-euler.js";
import { gaussianNoise } from "../../inference/diffusion/noise.js";
import { floatsOf, int64 } from "../../inference/tensor.js";
import { hashNgrams } from "../../inference/tokenizer.js";
import type { DenoiseState } from "./checkpoint.js";
import type { MotionModel, MotionSettings } from "./motion-model.js";
import type { VideoRequest } from "./request.js";

export interface DenoiseInput {
  readonly model: MotionModel;
  readonly request: VideoRequest;
  /** Text states [2, 8, 48]: of the prompt, then of the negative prompt. */
  readonly context: Float32Array;
  /** Canvas tokens [canvas tokens, channels] of the picture to animate. */
  readonly picture: Float32Array | null;
  readonly signal: AbortSignal;
  /** Where an earlier attempt stopped. */
  readonly start?: DenoiseState | undefined;
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
 * Latents [1, still tokens + seconds × latents a second, channels], yielding where it stands after
 * each step: rectified flow by Euler steps with guidance, from the request's seed.
 */
export async function* denoise(input: DenoiseInput): AsyncGenerator<DenoiseState, Float32Array> {
  const { model, request, context, picture, signal, start } = input;
  const { shapes, sampler } = model.settings;
  const length = latentLength(model, request);
  const dims = [length / shapes.channels, shapes.channels];
  const noise = gaussianNoise(request.seed, length);
  const sample = Float32Array.from(start?.sample ?? noise);
  const sigmas = flowSigmas(sampler.steps, sampler.shift);
  for (const [step, sigma] of sigmas.slice(0, -1).entries()) {
    if (step < (start?.step ?? 0)) continue;
    signal.throwIfAborted();
    const batch = new Float32Array(2 * length);
    batch.set(sample, 0);
    batch.set(sample, length);
    const { velocity } = await model.steps.run({
      sample: { data: batch, dims: [2, ...dims] },
      timestep: { data: Float32Array.of(sigma, sigma), dims: [2] },
      encoder_hidden_states: { data: context, dims: [2, 8, 48] },
    });
    if (velocity === undefined) throw new TypeError("the denoiser has no output velocity");
    const guidance = guidanceAt(step, sampler);
    const next = sigmas[step + 1] ?? 0;
    eulerStep(sample, guide(velocity.data, guidance), next - sigma);
    if (picture) {
      pullToPicture({ sample, noise, picture, sigma: next, pull: shapes.imageConditioning.pull });
    }
    yield { step: step + 1, sample };
  }
  if (!sample.every(Number.isFinite)) {
    throw new JobError("invalid_output", "the denoiser produced values that are not numbers");
  }
  return sample;
}

/** Numbers of a clip's latents. */
export function latentLength(
  { settings: { shapes } }: MotionModel,
  { seconds }: VideoRequest,
): number {
  return (shapes.stillTokens + seconds * shapes.latentsPerSecond) * shapes.channels;
}

function guidanceAt(step: number, sampler: MotionSettings["sampler"]): number {
  const fraction = step === 0 ? sampler.firstStepGuidanceFraction : 1;
  return 1 + (sampler.guidance - 1) * fraction;
}

interface PictureStep {
  readonly sample: Float32Array;
  readonly noise: Float32Array;
  /** Canvas tokens [canvas tokens, channels]: the first tokens of the sample. */
  readonly picture: Float32Array;
  readonly sigma: number;
  readonly pull: number;
}

/**
 * Moves the canvas tokens towards the picture's at the present noise level, so that light, place
 * and motion of the subject suit the picture.
 */
function pullToPicture({ sample, noise, picture, sigma, pull }: PictureStep): void {
  for (const [at, value] of picture.entries()) {
    const target = (1 - sigma) * value + sigma * (noise[at] ?? 0);
    sample[at] = (sample[at] ?? 0) * (1 - pull) + target * pull;
  }
}
