import { JobError } from "../../core/errors.js";
import { floatsOf, int64 } from "../../runtime/tensors/tensor.js";
import { hashNgrams } from "../tokenizer/tokenizer.js";
import type { DenoiseState } from "../video/checkpoint.js";
import { type CourseInput, planCourse } from "./denoise-course.js";
import { takeStep } from "./denoise-step.js";
import { takeStretch } from "./denoise-stretch.js";
import type { MotionModel } from "./motion-model.js";
import type { ClipRequest } from "../video/family.js";

export interface DenoiseInput extends CourseInput {
  readonly signal: AbortSignal;
  /** Where an earlier attempt stopped. */
  readonly start?: DenoiseState | undefined;
}

/** Text states [2, 8, 48] of the prompt and the negative prompt. */
export async function encodePrompts(
  { clip, settings }: MotionModel,
  request: ClipRequest,
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
 * each run of the model: rectified flow by Euler steps with guidance, from the request's seed.
 */
export async function* denoise({
  signal,
  start,
  ...input
}: DenoiseInput): AsyncGenerator<DenoiseState, Float32Array> {
  const course = planCourse(input);
  const { graph, batch } = input.model.denoising;
  const advance = graph === "denoiser" ? takeStep : takeStretch;
  let state = start ?? { step: 0, sample: course.noise };
  while (state.step < course.guidances.length) {
    signal.throwIfAborted();
    state = await advance(batch, course, state);
    yield state;
  }
  if (!state.sample.every(Number.isFinite)) {
    throw new JobError("invalid_output", "the denoiser produced values that are not numbers");
  }
  return state.sample;
}
