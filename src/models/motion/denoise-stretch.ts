import type { StepBatch } from "../../runtime/batching/step-batch.js";
import type { DenoiseState } from "../video/checkpoint.js";
import type { DenoiseCourse } from "./denoise-course.js";

/** Some steps at once, in a run of the sampler, which does their arithmetic too. */
export async function takeStretch(
  batch: StepBatch,
  course: DenoiseCourse,
  { step, sample }: DenoiseState,
): Promise<DenoiseState> {
  const [tokens, channels] = course.dims;
  const clip = (data: Float32Array) => ({ data, dims: [1, tokens, channels] });
  const row = (values: readonly number[]) => {
    return { data: Float32Array.from(values), dims: [1, values.length] };
  };
  const { denoised, steps } = await batch.run({
    latents: clip(sample),
    ...statesOf(course),
    sigmas: row(fromStep(course.sigmas, step)),
    guidances: row(fromStep(course.guidances, step)),
    left: { data: Float32Array.of(course.guidances.length - step), dims: [1] },
    noise: clip(course.noise),
    ...pullOf(course),
  });
  if (denoised === undefined) throw new TypeError("the sampler has no output denoised");
  return { step: step + (steps?.data[0] ?? 0), sample: Float32Array.from(denoised.data) };
}

/** Of this length still, so that clips at different steps share runs. */
function fromStep(values: readonly number[], step: number): number[] {
  return values.map((_, at) => values[step + at] ?? 0);
}

function statesOf({ context }: DenoiseCourse) {
  const half = context.length / 2;
  return {
    states: { data: context.subarray(0, half), dims: [1, 8, 48] },
    negative_states: { data: context.subarray(half), dims: [1, 8, 48] },
  };
}

/** The picture's tokens among zeros, and by which share each token of the latents moves there. */
function pullOf({ model, picture, noise, dims: [tokens, channels] }: DenoiseCourse) {
  const anchor = new Float32Array(noise.length);
  anchor.set(picture ?? [], 0);
  const { pull } = model.settings.shapes.imageConditioning;
  const pulled = (picture?.length ?? 0) / channels;
  const shares = Float32Array.from({ length: tokens }, (_, token) => (token < pulled ? pull : 0));
  return {
    anchor: { data: anchor, dims: [1, tokens, channels] },
    pull: { data: shares, dims: [1, tokens, 1] },
  };
}
