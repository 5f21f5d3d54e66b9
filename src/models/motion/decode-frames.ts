import {
  bytesOf,
  castTensor,
  float32,
  floatsOf,
  int64,
  type Tensors,
  uint8,
} from "../../runtime/tensors/tensor.js";
import type { FrameWindow } from "../video/video-model.js";
import { type Canvas, decodeCanvas, type FramePlan, layerShifts, type Scene } from "./canvas.js";
import type { MotionModel } from "./model.js";

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
 * Decodes windows on all decoding threads and yields them in order. One window a thread is in the
 * making while the caller takes the oldest, so that its pace bounds memory.
 */
export async function* decodeWindows(
  model: MotionModel,
  plan: PaintedPlan,
): AsyncGenerator<FrameWindow> {
  const { signal, onLaunched = () => {} } = plan;
  signal.throwIfAborted();
  const spans = windowSpans(plan.frameCount, model.settings.shapes.windowFrames);
  const pending = new Map<number, Promise<FrameWindow>>();
  const still = keepStill(model, plan);
  const launch = (index: number) => {
    const span = spans[index];
    const decoder = model.decoders[index % model.decoders.length];
    if (span === undefined || decoder === undefined) return;
    const moving = movingFeeds(plan, span, model.settings.shapes.frameRate);
    const run = decoder.run("frame-decoder", { ...still.feeds, ...moving });
    const { first: firstFrame, end } = span;
    const window = run.then((outputs) => {
      return { firstFrame, count: end - firstFrame, frames: bytesOf(outputs, "frames") };
    });
    // Only the oldest is awaited; a younger one that fails first is reported in its turn.
    window.catch(() => {});
    pending.set(index, window);
    if (index === spans.length - 1) onLaunched();
  };
  const ahead = model.decoders.length + 1;
  try {
    for (let index = 0; index < Math.min(ahead, spans.length); index++) launch(index);
    for (let index = 0; index < spans.length; index++) {
      const window = await pending.get(index);
      pending.delete(index);
      signal.throwIfAborted();
      launch(index + ahead);
      if (window) yield window;
    }
  } finally {
    still.drop();
  }
}

function windowSpans(frameCount: number, windowFrames: number): Span[] {
  const count = Math.ceil(frameCount / windowFrames);
  return Array.from({ length: count }, (_, index) => ({
    first: index * windowFrames,
    end: Math.min((index + 1) * windowFrames, frameCount),
  }));
}

let clips = 0;

/** What all windows share is kept in every decoder: 5 to 15 MB that do not travel with each window. */
function keepStill({ decoders }: MotionModel, plan: PaintedPlan) {
  const clip = ++clips;
  const feeds = stillFeeds(plan);
  const keptAs = (name: string) => `${clip}/${name}`;
  for (const decoder of decoders) {
    const types = decoder.info["frame-decoder"]?.inputs ?? [];
    const declared = types.flatMap(({ name, type }) => {
      const tensor = feeds[name];
      return tensor === undefined ? [] : [[keptAs(name), castTensor(tensor, type)]];
    });
    decoder.put(Object.fromEntries(declared));
  }
  const names = Object.keys(feeds);
  return {
    feeds: Object.fromEntries(names.map((name) => [name, { kept: keptAs(name) }])),
    drop: () => decoders.forEach((decoder) => decoder.drop(names.map(keptAs))),
  };
}

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
