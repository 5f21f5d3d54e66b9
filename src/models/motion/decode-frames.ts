import { float32, floatsOf, int64, type Tensors, uint8 } from "../../runtime/tensors/tensor.js";
import { frameByteLength } from "../../media/i420.js";
import type { FrameWindow } from "../video/video-model.js";
import { type Canvas, decodeCanvas, type FramePlan, layerShifts, type Scene } from "./canvas.js";
import type { Values } from "../../runtime/ort/session.js";
import { Value } from "../../runtime/ort/value.js";
import { FRAME_DECODER, type MotionModel } from "./model.js";

interface Span {
  readonly first: number;
  readonly end: number;
}

/** `drift`: log zoom by which the camera comes closer over the clip, besides its own way. */
export async function decodeScene(
  { clip, settings }: MotionModel,
  sample: Float32Array,
  drift = 0,
): Promise<Scene> {
  const { channels } = settings.shapes;
  const latents = float32(sample, [1, sample.length / channels, channels]);
  const outputs = await clip.run("scene-decoder", {
    latents,
    drift: float32(Float32Array.of(drift), [1]),
  });
  return {
    latents,
    sprite: floatsOf(outputs, "sprite"),
    transforms: floatsOf(outputs, "transforms"),
    spriteWeights: floatsOf(outputs, "sprite_weights"),
    cameras: floatsOf(outputs, "cameras"),
    shadowTransforms: floatsOf(outputs, "shadow_transforms"),
    shadowStrengths: floatsOf(outputs, "shadow_strengths"),
  };
}

/** Paints the canvas, then decodes all frames. */
export async function* decodeFrames(
  model: MotionModel,
  plan: FramePlan,
  signal: AbortSignal,
): AsyncGenerator<FrameWindow> {
  yield* decodeWindows(model, { ...plan, canvas: await decodeCanvas(model, plan), signal });
}

export interface PaintedPlan extends FramePlan {
  readonly canvas: Canvas;
  readonly signal: AbortSignal;
  /** Called when the last window is in the making: the decoders can be given other work. */
  readonly onLaunched?: () => void;
}

/**
 * Decodes windows side by side and yields them in order: some are in the making while the caller takes
 * the oldest, so that its pace bounds memory. The memory of a window's frames is another's afterwards.
 */
export async function* decodeWindows(
  model: MotionModel,
  plan: PaintedPlan,
): AsyncGenerator<FrameWindow> {
  const { signal, onLaunched = () => {} } = plan;
  signal.throwIfAborted();
  const { windowsAtOnce, settings } = model;
  const { windowFrames } = settings.shapes;
  const spans = windowSpans(plan.frameCount, windowFrames);
  const ahead = windowsAtOnce + 1;
  const frameBytes = frameByteLength(plan.width, plan.height);
  const memories = Array.from({ length: Math.min(ahead + 1, spans.length) }, () => {
    return Buffer.allocUnsafeSlow(windowFrames * frameBytes);
  });
  const still = model.frames.place(FRAME_DECODER, stillFeeds(plan));
  const windows: Promise<FrameWindow>[] = [];
  const launch = (span: Span, index: number) => {
    const before = windows[index - windowsAtOnce] ?? Promise.resolve();
    const memory = memories[index % memories.length] ?? new Uint8Array();
    const window = before.then(() => {
      if (index === spans.length - 1) onLaunched();
      return decodeWindow(model, plan, { span, still, memory });
    });
    // Only the oldest is awaited; a younger one that fails first is reported in its turn.
    window.catch(() => {});
    windows.push(window);
  };
  try {
    spans.slice(0, ahead).forEach(launch);
    for (let index = 0; index < spans.length; index++) {
      const window = await windows[index];
      signal.throwIfAborted();
      spans.slice(index + ahead, index + ahead + 1).forEach((span) => launch(span, index + ahead));
      if (window) yield window;
    }
  } finally {
    // A window that was not taken may still be in the making.
    void Promise.allSettled(windows).then(() => closeAll(still));
  }
}

interface WindowTask {
  readonly span: Span;
  /** What all windows share. */
  readonly still: Values;
  /** Where the frames go. */
  readonly memory: Uint8Array;
}

async function decodeWindow(
  { frames: graphs, settings }: MotionModel,
  plan: PaintedPlan,
  { span, still, memory }: WindowTask,
): Promise<FrameWindow> {
  const { width, height, signal } = plan;
  const count = span.end - span.first;
  const frames = memory.subarray(0, count * frameByteLength(width, height));
  const into = { frames: Value.of(uint8(frames, [count, (3 * height) / 2, width])) };
  const feeds = { ...still, ...movingFeeds(plan, span, settings.shapes.frameRate) };
  try {
    await graphs.step(FRAME_DECODER, feeds, { into, signal });
    return { firstFrame: span.first, count, frames };
  } finally {
    closeAll(into);
  }
}

function closeAll(values: Values): void {
  for (const value of Object.values(values)) value.close();
}

function windowSpans(frameCount: number, windowFrames: number): Span[] {
  const count = Math.ceil(frameCount / windowFrames);
  return Array.from({ length: count }, (_, index) => ({
    first: index * windowFrames,
    end: Math.min((index + 1) * windowFrames, frameCount),
  }));
}

/** What all windows share, 5 to 15 MB. */
function stillFeeds({ scene, canvas, width, height }: PaintedPlan): Tensors {
  return {
    ...canvasFeeds(canvas),
    sprite: float32(scene.sprite, [8, 4, 128, 128]),
    size: int64(BigInt64Array.of(BigInt(height), BigInt(width)), [2]),
  };
}

function movingFeeds(plan: PaintedPlan, span: Span, frameRate: number): Tensors {
  const { scene, canvas } = plan;
  const count = span.end - span.first;
  const rowsOf = (values: Float32Array, ...dims: readonly number[]) => {
    const size = dims.reduce((product, dim) => product * dim, 1);
    return float32(values.slice(span.first * size, span.end * size), [count, ...dims]);
  };
  const shifts = Array.from({ length: count }, (_, index) =>
    layerShifts(canvas, span.first + index, plan, frameRate),
  );
  return {
    shifts: int64(BigInt64Array.from(shifts.flat()), [count, 4]),
    cameras: rowsOf(scene.cameras, 3),
    transforms: rowsOf(scene.transforms, 2, 3),
    sprite_weights: rowsOf(scene.spriteWeights, 8),
    shadow_transforms: rowsOf(scene.shadowTransforms, 2, 3),
    shadow_strengths: rowsOf(scene.shadowStrengths, 1),
  };
}

function canvasFeeds({ rows, columns, luma, chroma, bands, tile, looks }: Canvas): Tensors {
  const bandFeeds = bands.map(({ data, dims }, index) => [`band_${index}`, uint8(data, dims)]);
  return {
    ...Object.fromEntries(bandFeeds),
    luma: uint8(luma, [1, 1, rows, columns]),
    chroma: uint8(chroma, [1, 2, rows / 2, columns / 2]),
    tile: uint8(tile.data, tile.dims),
    looks: float32(looks, [3, 6]),
  };
}
