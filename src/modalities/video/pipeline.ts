import type { PipelineEvent } from "../../core/events.js";
import type { Pipeline, PipelineSetup } from "../../core/modality.js";
import { decodeCheckpoint, leave } from "./checkpoint.js";
import { type ClipTask, kindOf } from "./clip-task.js";
import { denoise, encodePrompts } from "./denoise.js";
import { encodeClip } from "./encode-clip.js";
import { openMotionModel } from "./motion-model.js";
import { readPicture } from "./picture.js";
import type { VideoOutput, VideoRequest } from "./request.js";
import { makeSound } from "./sound.js";
import { DENOISED_FRACTION } from "./stage-fractions.js";

/** Text encoder → denoising steps → decoder → frames into ffmpeg window by window, with sound. */
export async function createVideoPipeline(
  setup: PipelineSetup,
): Promise<Pipeline<VideoRequest, VideoOutput>> {
  const model = await openMotionModel(setup);
  return {
    run: (request, context) => makeClip({ model, setup, request, context }),
    close: () => model.close(),
  };
}

async function* makeClip(task: ClipTask): AsyncGenerator<PipelineEvent<VideoOutput>> {
  const { model, request } = task;
  const frameCount = request.seconds * model.settings.shapes.frameRate;
  yield { type: "progress", stage: "prompt", fraction: 0 };
  const states = await encodePrompts(model, request);
  const picture = await readPicture(task);
  const sample = yield* denoiseWithProgress(task, states, picture?.tokens ?? null);
  const done = { step: model.settings.sampler.steps, sample };
  if (request.sound) yield { type: "progress", stage: "sound", fraction: DENOISED_FRACTION };
  const soundPath = request.sound ? await makeSound(task, states) : undefined;
  yield* encodeClip(task, { done, picture, soundPath, frameCount });
  yield { type: "output", output: { frameCount } };
}

async function* denoiseWithProgress(
  task: ClipTask,
  context: Float32Array,
  picture: Float32Array | null,
): AsyncGenerator<PipelineEvent<VideoOutput>, Float32Array> {
  const { model, request } = task;
  const { signal, preempted, scratchPath, checkpoint } = task.context;
  const kind = kindOf(task);
  const start = decodeCheckpoint(checkpoint, kind);
  const done = (start?.step ?? 0) / model.settings.sampler.steps;
  if (done < 1) yield { type: "progress", stage: "steps", fraction: done * DENOISED_FRACTION };
  const steps = denoise({ model, request, context, picture, signal, start });
  let next = await steps.next();
  for (; !next.done; next = await steps.next()) {
    const fraction = (next.value.step / model.settings.sampler.steps) * DENOISED_FRACTION;
    yield { type: "progress", stage: "steps", fraction };
    if (preempted?.aborted === true) yield* leave(scratchPath, kind, next.value);
  }
  return next.value;
}
