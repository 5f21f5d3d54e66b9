import { join } from "node:path";
import type { PipelineEvent } from "../../core/events.js";
import type { Pipeline, PipelineSetup } from "../../core/modality.js";
import { createStageWatch } from "../../core/stages.js";
import { openSoundBed, type SoundBed } from "../../media/sound-bed.js";
import { decodeCheckpoint, type DenoiseState, handOver } from "../../models/video/checkpoint.js";
import type { Clip } from "../../models/video/video-model.js";
import { type ClipTask, encodeClip } from "./encode-clip.js";
import {
  graphPaths,
  loadModelPackage,
  type ModelPackage,
} from "../../runtime/packages/model-package.js";
import { openModel } from "../../models/registry.js";
import { uniformSource } from "../../models/sampling/noise.js";
import type { VideoOutput, VideoRequest } from "./request.js";

/** Text encoder → denoising steps → decoder → frames into ffmpeg window by window, with sound. */
export async function createVideoPipeline(
  setup: PipelineSetup,
): Promise<Pipeline<VideoRequest, VideoOutput>> {
  const files = await loadModelPackage(setup.modelPath, setup);
  // Read before the graphs: it is quickly found wrong.
  const bed = await openBed(files, setup);
  const model = await openModel("video", files, setup);
  return {
    run: (request, context) => measured(makeClip({ model, setup, request, context }, bed)),
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

/** Role of the sound that goes below the clips of a silent model. */
const SOUND_BED = "sound-bed";

async function openBed(
  model: ModelPackage,
  { ffmpegPath }: PipelineSetup,
): Promise<SoundBed | undefined> {
  if (model.files[SOUND_BED] === undefined) return undefined;
  const { [SOUND_BED]: path = "" } = graphPaths(model, [SOUND_BED]);
  return await openSoundBed(path, ffmpegPath);
}

/** Writes a clip's stretch of the bed into the scratch folder; returns its path. Same seed, same stretch. */
async function cutBed(bed: SoundBed, { request, context }: ClipTask): Promise<string> {
  const path = join(context.scratchPath, "sound.wav");
  const place = uniformSource(request.seed)();
  await bed.write(path, { seconds: request.seconds, place });
  return path;
}

async function* makeClip(
  given: Omit<ClipTask, "clip">,
  bed: SoundBed | undefined,
): AsyncGenerator<PipelineEvent<VideoOutput>> {
  const { model, request, context } = given;
  yield { type: "progress", stage: "prompt", fraction: 0 };
  const clip = await model.openClip(request, context);
  const task = { ...given, clip };
  const done = yield* denoiseWithProgress(task);
  const makeSound = request.sound ? soundOf(task, bed) : undefined;
  if (makeSound) yield { type: "progress", stage: "sound", fraction: model.denoisedFraction };
  const soundPath = await makeSound?.(done.sample);
  yield* encodeClip(task, { done, soundPath });
  const { frameCount, frameRate } = clip.format;
  const notes = clip.notes ?? [];
  yield { type: "output", output: { frameCount, frameRate, ...(notes.length > 0 && { notes }) } };
}

/** The model's own sound; where it makes none, a stretch of the bed. */
function soundOf(task: ClipTask, bed: SoundBed | undefined): Clip["makeSound"] {
  return task.clip.makeSound ?? (bed && (() => cutBed(bed, task)));
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
  try {
    let next = await denoising.next();
    for (; next.done !== true; next = await denoising.next()) {
      yield { type: "progress", stage: "steps", fraction: share(next.value.step) };
      if (preempted?.aborted === true)
        yield* handOver(scratchPath, clip.checkpointKind, next.value);
    }
    return { step: steps, sample: next.value };
  } finally {
    // Where the job leaves amid the steps, what they hold is freed.
    await denoising.return(new Float32Array());
  }
}
