import { join } from "node:path";
import type { PipelineEvent } from "../../core/events.js";
import { freeMemory } from "../../runtime/ort/free-memory.js";
import { type Encoder, openEncoder } from "../../media/encoder.js";
import { startProbe, type StartedProbe } from "../../media/probe.js";
import { type DenoiseState, leave } from "../../models/video/checkpoint.js";
import type { ClipTask } from "./clip-task.js";
import type { DecodeFrames } from "../../models/video/family.js";
import { createPreviews, type Previews } from "./previews.js";
import type { VideoOutput } from "./request.js";
import { DECODED_FRACTION, MUXED_FRACTION } from "./stage-fractions.js";
import { takeTurn } from "./take-turn.js";

export interface DenoisedClip {
  readonly done: DenoiseState;
  readonly soundPath: string | undefined;
}

/** What must be let go of, however the clip ends. */
interface Held {
  leaveTurn?: () => void;
  probe?: StartedProbe;
}

type ClipEvents<Return = void> = AsyncGenerator<PipelineEvent<VideoOutput>, Return>;

/**
 * Frames into ffmpeg window by window; then the file is probed and named, with its pictures. ffmpeg
 * starts while the canvas is painted, ffprobe while the last frames are made.
 */
export async function* encodeClip(task: ClipTask, { done, soundPath }: DenoisedClip): ClipEvents {
  const { setup, request, context, model } = task;
  const { signal, scratchPath } = context;
  const { format } = task.clip;
  const { width, height } = request;
  const path = join(scratchPath, "content.mp4");
  const sound = soundPath === undefined ? {} : { soundPath };
  const { ffmpegPath, ffprobePath } = setup;
  const opening = openEncoder({
    ...format,
    size: { width, height },
    path,
    signal,
    ffmpegPath,
    ...sound,
  });
  // Whoever writes sees the rejection.
  const opened = opening.catch(() => undefined);
  const previews = createPreviews(format);
  const held: Held = {};
  try {
    yield { type: "progress", stage: "canvas", fraction: model.denoisedFraction };
    const decode = await task.clip.paint(done.sample);
    const leaveTurn = yield* awaitTurn(task, done);
    held.leaveTurn = leaveTurn;
    const onLaunched = () => {
      leaveTurn();
      held.probe = startProbe({ ffprobePath, signal });
    };
    const encoder = await opening;
    yield* writeFrames(task, { windows: decode(onLaunched), previews, encoder, done });
    yield { type: "progress", stage: "muxing", fraction: DECODED_FRACTION };
    const [files] = await Promise.all([previews.write(scratchPath), encoder.finish()]);
    yield { type: "progress", stage: "checking", fraction: MUXED_FRACTION };
    await held.probe?.verify(path, { ...format, width, height, sound: request.sound });
    yield* files;
  } finally {
    held.leaveTurn?.();
    await Promise.all([held.probe?.end(), opened.then((encoder) => encoder?.abort())]);
  }
  yield { type: "file", variant: "content", path, mediaType: "video/mp4" };
}

/** One clip's frames are decoded before the next one's; a worker that must leave does not wait for that. */
async function* awaitTurn(task: ClipTask, done: DenoiseState): ClipEvents<() => void> {
  const { signal, preempted, scratchPath } = task.context;
  const either = preempted ? AbortSignal.any([signal, preempted]) : signal;
  const { decoding: mutex, denoisedFraction: fraction } = task.model;
  try {
    return yield* takeTurn({ mutex, signal: either, fraction });
  } catch (thrown) {
    if (preempted?.aborted === true && !signal.aborted)
      yield* leave(scratchPath, task.clip.checkpointKind, done);
    throw thrown;
  }
}

interface Writing {
  readonly windows: ReturnType<DecodeFrames>;
  readonly previews: Previews;
  readonly encoder: Encoder;
  readonly done: DenoiseState;
}

async function* writeFrames(
  task: ClipTask,
  { windows, previews, encoder, done }: Writing,
): ClipEvents {
  const { preempted, scratchPath } = task.context;
  const { denoisedFraction } = task.model;
  const { format, checkpointKind } = task.clip;
  yield { type: "progress", stage: "frames", fraction: denoisedFraction };
  for await (const window of windows) {
    await Promise.all([encoder.write(window.frames), previews.add(window)]);
    freeMemory(window.frames);
    const decoded = (window.firstFrame + window.count) / format.frameCount;
    const fraction = denoisedFraction + decoded * (DECODED_FRACTION - denoisedFraction);
    yield* previews.takeNewest();
    yield { type: "progress", stage: "frames", fraction };
    if (preempted?.aborted === true) yield* leave(scratchPath, checkpointKind, done);
  }
}
