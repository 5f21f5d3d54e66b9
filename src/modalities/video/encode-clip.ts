import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Mutex } from "../../core/async/mutex.js";
import { type PipelineEvent, WAITING } from "../../core/events.js";
import type { PipelineContext, PipelineSetup } from "../../core/modality.js";
import { type ClipFormat, type Encoder, openEncoder } from "../../media/encoder.js";
import type { Fragment } from "../../media/fragments.js";
import { verifyClip } from "../../media/verify-clip.js";
import { type DenoiseState, handOver } from "../../models/video/checkpoint.js";
import type { Clip, DecodeFrames, VideoModel } from "../../models/video/video-model.js";
import { createPreviews, type Previews } from "./previews.js";
import type { VideoOutput, VideoRequest } from "./request.js";

/** One clip to make: the opened model, the request and the attempt it runs in. */
export interface ClipTask {
  readonly model: VideoModel;
  readonly setup: PipelineSetup;
  readonly request: VideoRequest;
  readonly context: PipelineContext;
  readonly clip: Clip;
}

/** Shares of a clip's time, as measured on two cores; when its latents are finished is for its model to say. */
const DECODED_FRACTION = 0.93;
const MUXED_FRACTION = 0.97;

/** A job that waits says so this often, or it would count as hung, in milliseconds. */
const SIGN_MS = 5_000;

interface MutexWait {
  readonly mutex: Mutex;
  /** Ends the waiting: its reason is thrown. */
  readonly signal: AbortSignal;
  /** Share of the job that is done, 0 to 1. */
  readonly fraction: number;
}

/** Waits until the mutex is free, telling of it and of how long it took; returns what releases it. */
async function* enterMutex({
  mutex,
  signal,
  fraction,
}: MutexWait): AsyncGenerator<PipelineEvent<never>, () => void> {
  const since = performance.now();
  const entering = mutex.enter(signal);
  let isEntered = false;
  try {
    let release = await orLater(entering, 0);
    for (; release === undefined; release = await orLater(entering, SIGN_MS))
      yield { type: "progress", stage: WAITING, fraction };
    yield { type: "waited", ms: performance.now() - since };
    isEntered = true;
    return release;
  } finally {
    // Whoever stopped listening in the middle has no use for the mutex.
    if (!isEntered)
      void entering.then(
        (release) => release(),
        () => {},
      );
  }
}

/** Undefined where the promise is not settled within the time. */
async function orLater<T>(promise: Promise<T>, ms: number): Promise<T | undefined> {
  const over = new AbortController();
  const later = sleep(ms, undefined, { signal: over.signal }).catch(() => undefined);
  try {
    return await Promise.race([promise, later]);
  } finally {
    over.abort();
  }
}

interface DenoisedClip {
  readonly done: DenoiseState;
  readonly soundPath: string | undefined;
}

type ClipEvents<Return = void> = AsyncGenerator<PipelineEvent<VideoOutput>, Return>;

/**
 * Frames into ffmpeg window by window; then the file is verified and named, with its pictures. ffmpeg
 * starts while the canvas is painted.
 */
export async function* encodeClip(task: ClipTask, { done, soundPath }: DenoisedClip): ClipEvents {
  const { setup, request, context, model } = task;
  const { signal, scratchPath } = context;
  const { format } = task.clip;
  const { width, height } = request;
  const path = join(scratchPath, "content.mp4");
  const sound = soundPath === undefined ? {} : { soundPath };
  const { ffmpegPath, isLive = false } = setup;
  const live = createLivePieces(format);
  const opening = openEncoder({
    ...format,
    size: { width, height },
    path,
    signal,
    ffmpegPath,
    ...sound,
    ...(isLive && { onFragment: (fragment) => live.add(fragment) }),
  });
  // Whoever writes sees the rejection.
  const opened = opening.catch(() => undefined);
  const previews = createPreviews(format);
  let releaseMutex = (): void => {};
  try {
    yield { type: "progress", stage: "canvas", fraction: model.denoisedFraction };
    const decode = await task.clip.paint(done.sample);
    releaseMutex = yield* awaitDecoder(task, done);
    const encoder = await opening;
    yield* writeFrames(task, { windows: decode(releaseMutex), previews, live, encoder, done });
    yield { type: "progress", stage: "muxing", fraction: DECODED_FRACTION };
    const [files] = await Promise.all([previews.write(scratchPath), encoder.finish()]);
    yield* live.take();
    yield { type: "progress", stage: "checking", fraction: MUXED_FRACTION };
    await verifyClip(path, { ...format, width, height, sound: request.sound });
    yield* files;
  } finally {
    releaseMutex();
    await opened.then((encoder) => encoder?.abort());
  }
  yield { type: "file", variant: "content", path, mediaType: "video/mp4" };
}

/** One clip's frames are decoded before the next one's; a worker that must leave does not wait for that. */
async function* awaitDecoder(task: ClipTask, done: DenoiseState): ClipEvents<() => void> {
  const { signal, preempted, scratchPath } = task.context;
  const either = preempted ? AbortSignal.any([signal, preempted]) : signal;
  const { decoding: mutex, denoisedFraction: fraction } = task.model;
  try {
    return yield* enterMutex({ mutex, signal: either, fraction });
  } catch (thrown) {
    if (preempted?.aborted === true && !signal.aborted)
      yield* handOver(scratchPath, task.clip.checkpointKind, done);
    throw thrown;
  }
}

/** The clip in pieces, as they come from ffmpeg between two windows. */
function createLivePieces({ frameRate }: ClipFormat) {
  let frameCount = 0;
  let pieces: PipelineEvent<VideoOutput>[] = [];
  const endMs = () => Math.round((frameCount * 1_000) / frameRate);
  return {
    add({ bytes, frames }: Fragment): void {
      const startMs = endMs();
      frameCount += frames;
      pieces.push({ type: "live", bytes, startMs, endMs: endMs() });
    },
    take(): PipelineEvent<VideoOutput>[] {
      const taken = pieces;
      pieces = [];
      return taken;
    },
  };
}

interface Writing {
  readonly windows: ReturnType<DecodeFrames>;
  readonly previews: Previews;
  readonly live: ReturnType<typeof createLivePieces>;
  readonly encoder: Encoder;
  readonly done: DenoiseState;
}

async function* writeFrames(
  task: ClipTask,
  { windows, previews, live, encoder, done }: Writing,
): ClipEvents {
  const { preempted, scratchPath } = task.context;
  const { denoisedFraction } = task.model;
  const { format, checkpointKind } = task.clip;
  yield { type: "progress", stage: "frames", fraction: denoisedFraction };
  for await (const window of windows) {
    await Promise.all([encoder.write(window.frames), previews.add(window)]);
    const decoded = (window.firstFrame + window.count) / format.frameCount;
    const fraction = denoisedFraction + decoded * (DECODED_FRACTION - denoisedFraction);
    yield* previews.takeNewest();
    yield* live.take();
    yield { type: "progress", stage: "frames", fraction };
    if (preempted?.aborted === true) yield* handOver(scratchPath, checkpointKind, done);
  }
}
