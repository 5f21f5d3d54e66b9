import type { StepBatch } from "../../runtime/batching/step-batch.js";
import { floatsOf, int64 } from "../../runtime/tensors/tensor.js";
import { unknownNotes } from "../diffusion/prompt-encoders.js";
import { eulerStep, flowSigmas, guide } from "../diffusion/schedulers/flow-match.js";
import { checkFinite } from "../diffusion/schedulers/scheduler.js";
import { gaussianNoise } from "../sampling/noise.js";
import { hashNgrams } from "../tokenizer/hashed-ngrams.js";
import type { DenoiseState } from "../video/checkpoint.js";
import type { ClipRequest } from "../video/video-model.js";
import type { MotionModel } from "./model.js";

interface DenoiseInput extends ScheduleInput {
  readonly signal: AbortSignal;
  /** Where an earlier attempt stopped. */
  readonly start?: DenoiseState | undefined;
}

interface EncodedPrompts {
  /** Text states [2, 8, 48] of the prompt and the negative prompt. */
  readonly states: Float32Array;
  /** What of the prompt the model does not know, in sentences for the caller. */
  readonly notes: readonly string[];
}

export async function encodePrompts(
  { clip, settings }: MotionModel,
  request: ClipRequest,
): Promise<EncodedPrompts> {
  const { words, idsPerWord } = settings.tokenizer;
  const ids = new BigInt64Array(2 * words * idsPerWord);
  ids.set(hashNgrams(request.prompt, settings.tokenizer), 0);
  ids.set(hashNgrams(request.negativePrompt, settings.tokenizer), words * idsPerWord);
  const input = int64(ids, [2, words, idsPerWord]);
  const outputs = await clip.run("text-encoder", { input_ids: input });
  return { states: floatsOf(outputs, "last_hidden_state"), notes: unknownNotes(outputs) };
}

/**
 * Latents [1, still tokens + seconds × latents a second, channels], yielding where it stands after
 * each run of the model: rectified flow by Euler steps with guidance, from the request's seed.
 */
export async function* denoise({
  signal,
  start,
  ...input
}: DenoiseInput): AsyncGenerator<DenoiseState, Float32Array> {
  const schedule = planSchedule(input);
  const { denoising } = input.model;
  let state = start ?? { step: 0, sample: schedule.noise };
  while (state.step < schedule.guidances.length) {
    signal.throwIfAborted();
    state = await takeStep(denoising, schedule, state);
    yield state;
  }
  checkFinite(state.sample);
  return state.sample;
}

/** One step: a run of the denoiser for both branches of guidance, the arithmetic here. */
async function takeStep(
  batch: StepBatch,
  schedule: DenoiseSchedule,
  { step, sample: before }: DenoiseState,
): Promise<DenoiseState> {
  const { dims, context, sigmas, guidances } = schedule;
  const [sigma = 0, next = 0] = sigmas.slice(step);
  const sample = Float32Array.from(before);
  const both = new Float32Array(2 * sample.length);
  both.set(sample, 0);
  both.set(sample, sample.length);
  const { velocity } = await batch.run({
    sample: { data: both, dims: [2, ...dims] },
    timestep: { data: Float32Array.of(sigma, sigma), dims: [2] },
    encoder_hidden_states: { data: context, dims: [2, 8, 48] },
  });
  if (velocity === undefined) throw new TypeError("the denoiser has no output velocity");
  eulerStep(sample, guide(velocity.data, guidances[step] ?? 1), next - sigma);
  pullToPicture(schedule, sample, next);
  return { step: step + 1, sample };
}

/**
 * Moves the canvas tokens towards the picture's at the present noise level, so that light, place
 * and motion of the subject suit the picture.
 */
function pullToPicture(
  { picture, noise, model }: DenoiseSchedule,
  sample: Float32Array,
  sigma: number,
): void {
  const { pull } = model.settings.shapes.imageConditioning;
  for (const [at, value] of picture?.entries() ?? []) {
    const target = (1 - sigma) * value + sigma * (noise[at] ?? 0);
    sample[at] = (sample[at] ?? 0) * (1 - pull) + target * pull;
  }
}

/** What does not change from step to step of the denoising of one clip. */
interface DenoiseSchedule {
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

interface ScheduleInput extends Pick<DenoiseSchedule, "model" | "context" | "picture"> {
  readonly request: ClipRequest;
}

function planSchedule({ request, ...given }: ScheduleInput): DenoiseSchedule {
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
