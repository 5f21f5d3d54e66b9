import { join } from "node:path";
import type { PipelineEvent } from "../../core/events.js";
import { type Encoder, openEncoder } from "../../media/encoder.js";
import { startProbe, type StartedProbe } from "../../media/probe.js";
import { decodeCanvas } from "./canvas.js";
import { type DenoiseState, leave } from "./checkpoint.js";
import { type ClipTask, kindOf } from "./clip-task.js";
import { decodeScene, decodeWindows, type PaintedPlan } from "./decode-frames.js";
import type { ConditioningPicture } from "./picture.js";
import { createPreviews, type Previews } from "./previews.js";
import type { VideoOutput } from "./request.js";
import { DECODED_FRACTION, DENOISED_FRACTION, MUXED_FRACTION } from "./stage-fractions.js";
import { takeTurn } from "./take-turn.js";

export interface DenoisedClip {
  readonly done: DenoiseState;
  readonly picture: ConditioningPicture | null;
  readonly soundPath: string | undefined;
  readonly frameCount: number;
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
export async function* encodeClip(task: ClipTask, clip: DenoisedClip): ClipEvents {
  const { setup, request, context } = task;
  const { signal, scratchPath } = context;
  const { width, height } = request;
  const { soundPath, frameCount } = clip;
  const path = join(scratchPath, "content.mp4");
  const sound = soundPath === undefined ? {} : { soundPath };
  const { ffmpegPath, ffprobePath } = setup;
  const opening = openEncoder({ path, width, height, frameCount, signal, ffmpegPath, ...sound });
  // Whoever writes sees the rejection.
  const opened = opening.catch(() => undefined);
  const previews = createPreviews(request, frameCount);
  const held: Held = {};
  try {
    yield { type: "progress", stage: "canvas", fraction: DENOISED_FRACTION };
    const plan = await paint(task, clip);
    const leaveTurn = yield* awaitTurn(task, clip.done);
    held.leaveTurn = leaveTurn;
    const onLaunched = () => {
      leaveTurn();
      held.probe = startProbe({ ffprobePath, signal });
    };
    const encoder = await opening;
    yield* writeFrames(task, { plan: { ...plan, onLaunched }, previews, encoder, clip });
    yield { type: "progress", stage: "muxing", fraction: DECODED_FRACTION };
    const [files] = await Promise.all([previews.write(scratchPath), encoder.finish()]);
    yield { type: "progress", stage: "checking", fraction: MUXED_FRACTION };
    await held.probe?.verify(path, { frameCount, width, height, sound: request.sound });
    yield* files;
  } finally {
    held.leaveTurn?.();
    await Promise.all([held.probe?.end(), opened.then((encoder) => encoder?.abort())]);
  }
  yield { type: "file", variant: "content", path, mediaType: "video/mp4" };
}

/** What all frames share. */
async function paint(task: ClipTask, clip: DenoisedClip): Promise<PaintedPlan> {
  const { model, request, context } = task;
  const { width, height } = request;
  const { picture, frameCount, done } = clip;
  const drift = picture ? model.settings.shapes.imageConditioning.drift : 0;
  const scene = await decodeScene(model, done.sample, drift);
  const plan = { scene, frameCount, width, height, picture };
  return { ...plan, canvas: await decodeCanvas(model, plan), signal: context.signal };
}

/** One clip's frames are decoded before the next one's; a worker that must leave does not wait for that. */
async function* awaitTurn(task: ClipTask, done: DenoiseState): ClipEvents<() => void> {
  const { signal, preempted, scratchPath } = task.context;
  const either = preempted ? AbortSignal.any([signal, preempted]) : signal;
  const lane = task.model.decoding;
  try {
    return yield* takeTurn({ lane, signal: either, fraction: DENOISED_FRACTION });
  } catch (thrown) {
    if (preempted?.aborted === true && !signal.aborted)
      yield* leave(scratchPath, kindOf(task), done);
    throw thrown;
  }
}

interface Writing {
  readonly plan: PaintedPlan;
  readonly previews: Previews;
  readonly encoder: Encoder;
  readonly clip: DenoisedClip;
}

async function* writeFrames(
  task: ClipTask,
  { plan, previews, encoder, clip }: Writing,
): ClipEvents {
  const { preempted, scratchPath } = task.context;
  yield { type: "progress", stage: "frames", fraction: DENOISED_FRACTION };
  for await (const window of decodeWindows(task.model, plan)) {
    await Promise.all([encoder.write(window.frames), previews.add(window)]);
    const decoded = (window.firstFrame + window.count) / plan.frameCount;
    const fraction = DENOISED_FRACTION + decoded * (DECODED_FRACTION - DENOISED_FRACTION);
    yield* previews.takeNewest();
    yield { type: "progress", stage: "frames", fraction };
    if (preempted?.aborted === true) yield* leave(scratchPath, kindOf(task), clip.done);
  }
}
