import { bytesOf, float32, floatsOf, int64, type Tensors, uint8 } from "../../inference/tensor.js";
import type { MotionModel } from "./motion-model.js";

/** What the whole-clip decoder says: everything the frame decoder needs, for all frames. */
export interface Scene {
  /** Background at 8 Hz [keyframes, 3, 96, 160], float32. */
  readonly keyframes: Float32Array;
  /** Phases of the subject [8, 4, 128, 128], float32, premultiplied RGBA. */
  readonly sprite: Float32Array;
  /** Frame to subject coordinates [frames, 2, 3], float32. */
  readonly transforms: Float32Array;
  /** Share of each phase [frames, 8], float32. */
  readonly spriteWeights: Float32Array;
}

/** The picture to animate, cropped to the frame: RGB uint8 [3, height, width]. */
export interface Picture {
  readonly planes: Uint8Array;
  readonly weights: Float32Array;
}

export interface FramePlan {
  readonly scene: Scene;
  readonly frameCount: number;
  readonly width: number;
  readonly height: number;
  readonly picture: Picture | null;
}

/** Consecutive frames, I420 uint8 [count, height × 3/2, width]. */
export interface FrameWindow {
  readonly firstFrame: number;
  readonly count: number;
  readonly frames: Uint8Array;
}

interface Span {
  readonly first: number;
  readonly end: number;
}

export async function decodeScene(
  { clip, settings }: MotionModel,
  latents: Float32Array,
): Promise<Scene> {
  const { tokens, channels } = settings.shapes;
  const steps = latents.length / (tokens * channels);
  const outputs = await clip.run("scene-decoder", {
    latents: float32(latents, [1, steps, tokens, channels]),
  });
  return {
    keyframes: floatsOf(outputs, "keyframes"),
    sprite: floatsOf(outputs, "sprite"),
    transforms: floatsOf(outputs, "transforms"),
    spriteWeights: floatsOf(outputs, "sprite_weights"),
  };
}

/**
 * Decodes windows on all decoding threads and yields them in order. One window a thread is in the
 * making while the caller takes the oldest, so that its pace bounds memory.
 */
export async function* decodeFrames(
  model: MotionModel,
  plan: FramePlan,
  signal: AbortSignal,
): AsyncGenerator<FrameWindow> {
  const spans = windowSpans(plan.frameCount, model.settings.shapes);
  const pending = new Map<number, Promise<FrameWindow>>();
  const launch = (index: number) => {
    const span = spans[index];
    const decoder = model.decoders[index % model.decoders.length];
    if (span === undefined || decoder === undefined) return;
    const role = plan.picture ? "frame-decoder-picture" : "frame-decoder";
    const run = decoder.run(role, windowFeeds(plan, span, model.settings.shapes));
    const window = run.then((outputs) => toWindow(outputs, span));
    // Only the oldest is awaited; a younger one that fails first is reported in its turn.
    window.catch(() => {});
    pending.set(index, window);
  };
  const ahead = model.decoders.length + 1;
  for (let index = 0; index < Math.min(ahead, spans.length); index++) launch(index);
  for (let index = 0; index < spans.length; index++) {
    const window = await pending.get(index);
    pending.delete(index);
    signal.throwIfAborted();
    launch(index + ahead);
    if (window) yield window;
  }
}

interface WindowShape {
  readonly windowFrames: number;
  readonly framesPerLatent: number;
  readonly keyframesPerLatent: number;
}

/** Frame 0 stands before the first keyframe interval, so windows start at 1 + n × windowFrames. */
function windowSpans(frameCount: number, { windowFrames }: WindowShape): Span[] {
  const spans: Span[] = [];
  for (let end = 1 + windowFrames, first = 0; first < frameCount; end += windowFrames) {
    spans.push({ first, end: Math.min(end, frameCount) });
    first = Math.min(end, frameCount);
  }
  return spans;
}

function windowFeeds(plan: FramePlan, span: Span, shape: WindowShape): Tensors {
  const { scene, picture, width, height } = plan;
  const count = span.end - span.first;
  const keyframe = keyframeBlend(scene, span, shape);
  const feeds: Tensors = {
    keyframes: float32(keyframe.values, [keyframe.count, 3, 96, 160]),
    keyframe_weights: float32(keyframe.weights, [count, keyframe.count]),
    sprite: float32(scene.sprite, [8, 4, 128, 128]),
    transforms: float32(scene.transforms.slice(span.first * 6, span.end * 6), [count, 2, 3]),
    sprite_weights: float32(scene.spriteWeights.slice(span.first * 8, span.end * 8), [count, 8]),
    size: int64(BigInt64Array.of(BigInt(height), BigInt(width)), [2]),
  };
  if (picture === null) return feeds;
  return {
    ...feeds,
    picture: uint8(picture.planes, [1, 3, height, width]),
    picture_weights: float32(picture.weights.slice(span.first, span.end), [count]),
  };
}

/** The keyframes a window needs and each frame's linear weights over them [frames, keyframes]. */
function keyframeBlend(scene: Scene, span: Span, shape: WindowShape) {
  const size = 3 * 96 * 160;
  const last = scene.keyframes.length / size - 1;
  const framesPerKeyframe = shape.framesPerLatent / shape.keyframesPerLatent;
  const positionOf = (frame: number) =>
    Math.min(Math.max((frame - 1) / framesPerKeyframe, 0), last);
  const from = Math.floor(positionOf(span.first));
  const to = Math.ceil(positionOf(span.end - 1));
  const count = to - from + 1;
  const weights = new Float32Array((span.end - span.first) * count);
  for (let frame = span.first; frame < span.end; frame++) {
    const position = positionOf(frame) - from;
    const below = Math.min(Math.floor(position), count - 1);
    const row = (frame - span.first) * count;
    weights[row + below] = 1 - (position - below);
    if (position > below) weights[row + below + 1] = position - below;
  }
  return { values: scene.keyframes.slice(from * size, (to + 1) * size), count, weights };
}

function toWindow(outputs: Tensors, { first, end }: Span): FrameWindow {
  return { firstFrame: first, count: end - first, frames: bytesOf(outputs, "frames") };
}
