import type { PipelineEvent } from "../../core/events.js";
import type { Pipeline, PipelineSetup } from "../../core/modality.js";
import { createStageWatch } from "../../core/stages.js";
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
    run: (request, context) => measured(makeClip({ model, setup, request, context })),
    close: () => model.close(),
  };
}

/** The same events, and at the end how long each stage took and how much memory was held. */
async function* measured(
  events: AsyncIterable<PipelineEvent<VideoOutput>>,
): AsyncGenerator<PipelineEvent<VideoOutput>> {
  const seconds = new Map<string, number>();
  const stages = createStageWatch(({ stage, startedAtMs, endedAtMs }) => {
    const sum = (seconds.get(stage) ?? 0) + (endedAtMs - startedAtMs) / 1_000;
    seconds.set(stage, Math.round(sum * 1_000) / 1_000);
  });
  let peakMemoryBytes = 0;
  for await (const event of events) {
    if (event.type === "progress") {
      stages.enter(event.stage);
      peakMemoryBytes = Math.max(peakMemoryBytes, process.memoryUsage.rss());
    }
    if (event.type !== "output") yield event;
    else {
      stages.end();
      const stageSeconds = Object.fromEntries(seconds);
      yield { type: "output", output: { ...event.output, stageSeconds, peakMemoryBytes } };
    }
  }
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
