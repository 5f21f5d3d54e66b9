import { join } from "node:path";
import type { PipelineEvent } from "../../core/events.js";
import type { Pipeline, PipelineSetup } from "../../core/modality.js";
import { openEncoder } from "../../media/encoder.js";
import { verifyClip } from "../../media/probe.js";
import { decodeCheckpoint, leave, type CheckpointKind, type DenoiseState } from "./checkpoint.js";
import type { ClipTask } from "./clip-task.js";
import { decodeFrames, decodeScene } from "./decode-frames.js";
import { denoise, encodePrompts, latentLength } from "./denoise.js";
import type { FramePlan } from "./frame-plan.js";
import { openMotionModel } from "./motion-model.js";
import { readPicture } from "./picture.js";
import { createPreviews } from "./previews.js";
import type { VideoOutput, VideoRequest } from "./request.js";
import { makeSound } from "./sound.js";

/** Shares of a clip's time, as measured on two cores: they turn stages into one true progress. */
const DENOISED_FRACTION = 0.3;
const DECODED_FRACTION = 0.93;
const MUXED_FRACTION = 0.97;

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
  const { width, height } = request;
  const frameCount = request.seconds * model.settings.shapes.frameRate;
  const states = await encodePrompts(model, request);
  const picture = await readPicture(task);
  const latents = yield* denoiseWithProgress(task, states, picture?.tokens ?? null);
  const done = { step: model.settings.sampler.steps, sample: latents };
  const drift = picture ? model.settings.shapes.imageConditioning.drift : 0;
  const scene = await decodeScene(model, latents, drift);
  const soundPath = request.sound ? await makeSound(task, states) : undefined;
  const plan = { scene, frameCount, width, height, picture };
  yield* encodeClip(task, plan, { soundPath, done });
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
  const steps = denoise({ model, request, context, picture, signal, start });
  let next = await steps.next();
  for (; !next.done; next = await steps.next()) {
    const fraction = (next.value.step / model.settings.sampler.steps) * DENOISED_FRACTION;
    yield { type: "progress", stage: "steps", fraction };
    if (preempted?.aborted === true) yield* leave(scratchPath, kind, next.value);
  }
  return next.value;
}

function kindOf({ model, request }: ClipTask): CheckpointKind {
  const { id, settings } = model;
  return { modelId: id, steps: settings.sampler.steps, length: latentLength(model, request) };
}

/** Frames into ffmpeg window by window; then the file is probed and named, with its pictures. */
async function* encodeClip(
  task: ClipTask,
  plan: FramePlan,
  { soundPath, done }: { readonly soundPath: string | undefined; readonly done: DenoiseState },
): AsyncGenerator<PipelineEvent<VideoOutput>> {
  const { model, setup, request, context } = task;
  const { ffmpegPath, ffprobePath } = setup;
  const { signal, preempted, scratchPath } = context;
  const { frameCount, width, height } = plan;
  const path = join(scratchPath, "content.mp4");
  const previews = createPreviews(request, frameCount);
  const sound = soundPath === undefined ? {} : { soundPath };
  const clip = { path, width, height, frameCount, signal, ffmpegPath, ...sound };
  const encoder = await openEncoder(clip);
  try {
    for await (const window of decodeFrames(model, plan, signal)) {
      await Promise.all([encoder.write(window.frames), previews.add(window)]);
      const decoded = (window.firstFrame + window.count) / frameCount;
      const fraction = DENOISED_FRACTION + decoded * (DECODED_FRACTION - DENOISED_FRACTION);
      yield { type: "progress", stage: "frames", fraction };
      if (preempted?.aborted === true) yield* leave(scratchPath, kindOf(task), done);
    }
    yield { type: "progress", stage: "muxing", fraction: DECODED_FRACTION };
    await encoder.finish();
  } finally {
    await encoder.abort();
  }
  yield { type: "progress", stage: "checking", fraction: MUXED_FRACTION };
  const expectation = { frameCount, width, height, sound: request.sound, ffprobePath, signal };
  const [files] = await Promise.all([previews.write(scratchPath), verifyClip(path, expectation)]);
  yield* files;
  yield { type: "file", variant: "content", path, mediaType: "video/mp4" };
}
