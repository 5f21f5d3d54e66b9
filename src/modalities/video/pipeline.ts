import type { PipelineEvent } from "../../core/events.js";
import type { Pipeline, PipelineSetup } from "../../core/modality.js";
import { decodeCheckpoint, type DenoiseState, handOver } from "../../models/video/checkpoint.js";
import { type ClipTask, encodeClip } from "./encode-clip.js";
import { loadModelPackage } from "../../runtime/packages/model-package.js";
import { openModel } from "../../models/registry.js";
import type { VideoOutput, VideoRequest } from "./request.js";

/** Text encoder → denoising steps → decoder → frames into ffmpeg window by window, with sound. */
export async function createVideoPipeline(
  setup: PipelineSetup,
): Promise<Pipeline<VideoRequest, VideoOutput>> {
  const files = await loadModelPackage(setup.modelPath, setup);
  const model = await openModel("video", files, setup);
  return {
    run: (request, context) => makeClip({ model, setup, request, context }),
    close: () => model.close(),
  };
}

async function* makeClip(
  given: Omit<ClipTask, "clip">,
): AsyncGenerator<PipelineEvent<VideoOutput>> {
  const { model, request, context } = given;
  yield { type: "progress", stage: "prompt", fraction: 0 };
  const clip = await model.openClip(request, context);
  const task = { ...given, clip };
  const done = yield* denoiseWithProgress(task);
  const makeSound = request.sound ? clip.makeSound : undefined;
  if (makeSound) yield { type: "progress", stage: "sound", fraction: model.denoisedFraction };
  const soundPath = await makeSound?.();
  yield* encodeClip(task, { done, soundPath });
  const { frameCount, frameRate } = clip.format;
  yield { type: "output", output: { frameCount, frameRate } };
}

async function* denoiseWithProgress(
  task: ClipTask,
): AsyncGenerator<PipelineEvent<VideoOutput>, DenoiseState> {
  const { model, clip } = task;
  const { preempted, scratchPath, checkpoint } = task.context;
  const { steps } = clip.checkpointKind;
  const share = (step: number) => (step / steps) * model.denoisedFraction;
  const start = decodeCheckpoint(checkpoint, clip.checkpointKind);
  const done = start?.step ?? 0;
  if (done < steps) yield { type: "progress", stage: "steps", fraction: share(done) };
  const denoising = clip.denoise(start);
  let next = await denoising.next();
  for (; next.done !== true; next = await denoising.next()) {
    yield { type: "progress", stage: "steps", fraction: share(next.value.step) };
    if (preempted?.aborted === true) yield* handOver(scratchPath, clip.checkpointKind, next.value);
  }
  return { step: steps, sample: next.value };
}
