import { eulerStep, guide } from "../diffusion/flow-euler.js";
import type { StepBatch } from "../../runtime/batching/step-batch.js";
import type { DenoiseState } from "../video/checkpoint.js";
import type { DenoiseCourse } from "./denoise-course.js";

/** One step: a run of the denoiser for both branches of guidance, the arithmetic here. */
export async function takeStep(
  batch: StepBatch,
  course: DenoiseCourse,
  { step, sample: before }: DenoiseState,
): Promise<DenoiseState> {
  const { dims, context, sigmas, guidances } = course;
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
  pullToPicture(course, sample, next);
  return { step: step + 1, sample };
}

/**
 * Moves the canvas tokens towards the picture's at the present noise level, so that light, place
 * and motion of the subject suit the picture.
 */
function pullToPicture(
  { picture, noise, model }: DenoiseCourse,
  sample: Float32Array,
  sigma: number,
): void {
  const { pull } = model.settings.shapes.imageConditioning;
  for (const [at, value] of picture?.entries() ?? []) {
    const target = (1 - sigma) * value + sigma * (noise[at] ?? 0);
    sample[at] = (sample[at] ?? 0) * (1 - pull) + target * pull;
  }
}
