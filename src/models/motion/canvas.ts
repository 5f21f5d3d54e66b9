import {
  bytesOf,
  float32,
  floatsOf,
  type Tensor,
  type Tensors,
} from "../../runtime/tensors/tensor.js";
import type { MotionModel } from "./model.js";

/** Numbers of one look. */
const LOOK_SIZE = 6;
const STRENGTH = 5;
const ASPECT = 16 / 9;
/** Of the frame's size: the canvas is painted no finer, whatever the camera does, so that memory is bounded. */
const FINEST = 1.6;

/** Paints the clip's canvas as fine as its closest camera sees it (up to `FINEST`), once for all frames. */
export async function decodeCanvas(
  { clip, settings }: MotionModel,
  plan: FramePlan,
): Promise<Canvas> {
  const { scene, width, height, picture } = plan;
  const zoom = closestZoom(scene.cameras);
  const rows = even(height * zoom);
  const columns = even(width * zoom);
  const tilePeriod = Math.round(settings.shapes.tilePeriod * height);
  const tileDims = [height + tilePeriod, width + tilePeriod] as const;
  const outputs = await clip.run("canvas-decoder", {
    latents: scene.latents,
    rows: centres(rows, 1),
    columns: centres(columns, ASPECT),
    tile_rows: centres(tileDims[0], tileDims[0] / height),
    tile_columns: centres(tileDims[1], tileDims[1] / height),
  });
  const looks = floatsOf(outputs, "looks");
  const painted = picture ? await picture.paint(rows, columns) : planesOf(outputs);
  const bands = bytesOf(outputs, "bands");
  const band = (index: number): Plane => ({
    data: bands.slice(index * rows * columns, (index + 1) * rows * columns),
    dims: [rows, columns],
  });
  return {
    ...painted,
    rows,
    columns,
    looks,
    tilePeriod,
    bands: [0, 1].map((index) => unlessAbsent(looks, index, () => band(index))),
    tile: unlessAbsent(looks, 2, () => ({ data: bytesOf(outputs, "tile"), dims: tileDims })),
  };
}

export function planesOf(outputs: Tensors): Pick<Canvas, "luma" | "chroma"> {
  return { luma: bytesOf(outputs, "luma"), chroma: bytesOf(outputs, "chroma") };
}

/** Whole, even pixels by which both bands and the tile (down, right) have moved at a frame: [4] int64. */
export function layerShifts(canvas: Canvas, frame: number, plan: FramePlan, frameRate: number) {
  const { looks, rows, columns, tilePeriod } = canvas;
  const seconds = frame / frameRate;
  const moved = (index: number, axis: number, pixels: number, period: number) => {
    const speed = looks[index * LOOK_SIZE + axis] ?? 0;
    const shift = even(-speed * seconds * pixels) % period;
    return BigInt(shift < 0 ? shift + period : shift);
  };
  return [
    moved(0, 0, rows, columns),
    moved(1, 0, rows, columns),
    moved(2, 1, plan.height, tilePeriod),
    moved(2, 0, plan.height, tilePeriod),
  ];
}

/** A layer without strength is not drawn: one byte stands for it. */
function unlessAbsent(looks: Float32Array, index: number, plane: () => Plane): Plane {
  const strength = looks[index * LOOK_SIZE + STRENGTH] ?? 0;
  return strength > 0 ? plane() : { data: new Uint8Array(1), dims: [1, 1] };
}

/** cameras [frames, 3]: pan right, pan down, zoom. */
function closestZoom(cameras: Float32Array): number {
  let zoom = 1;
  for (let at = 2; at < cameras.length; at += 3) zoom = Math.max(zoom, cameras[at] ?? 1);
  return Math.min(zoom, FINEST);
}

function centres(count: number, extent: number) {
  const places = Float32Array.from({ length: count }, (_, at) => ((at + 0.5) / count) * extent);
  return float32(places, [count]);
}

/** The nearest even number. */
function even(value: number): number {
  return 2 * Math.floor(value / 2 + 0.5);
}

/** The still part of a clip and its moving layers, as 8-bit planes. */
export interface Canvas {
  readonly rows: number;
  readonly columns: number;
  /** Y [1, 1, rows, columns] and U, V [1, 2, rows / 2, columns / 2], BT.709, limited range. */
  readonly luma: Uint8Array;
  readonly chroma: Uint8Array;
  /** Cover of two bands that scroll over the canvas; one byte where a band has no strength. */
  readonly bands: readonly Plane[];
  /** Cover of what falls or drifts before the camera, one period larger than the frame. */
  readonly tile: Plane;
  /** Of the bands and the tile [3, 6]: speed right and down (frame heights a second), Y, U, V, strength. */
  readonly looks: Float32Array;
  /** Whole pixels after which the tile repeats. */
  readonly tilePeriod: number;
}

interface Plane {
  readonly data: Uint8Array;
  readonly dims: readonly [number, number];
}

/** What the whole-clip decoder says: where camera, subject and shadow are in each frame. */
export interface Scene {
  /** Tokens of the clip [1, still tokens + latent steps, channels], float32. */
  readonly latents: Tensor;
  /** Phases of the subject [8, 4, 128, 128], float32, premultiplied RGBA. */
  readonly sprite: Float32Array;
  /** Frame to subject coordinates [frames, 2, 3], float32. */
  readonly transforms: Float32Array;
  /** Share of each phase [frames, 8], float32. */
  readonly spriteWeights: Float32Array;
  /** Pan right, pan down (frame heights) and zoom [frames, 3], float32. */
  readonly cameras: Float32Array;
  /** Frame to shadow coordinates [frames, 2, 3], and strengths 0..1 [frames, 1], float32. */
  readonly shadowTransforms: Float32Array;
  readonly shadowStrengths: Float32Array;
}

/** The picture to animate: it is the clip's canvas. */
export interface Picture {
  /** Planes of the picture at the canvas's size. */
  paint(rows: number, columns: number): Promise<Pick<Canvas, "luma" | "chroma">>;
}

export interface FramePlan {
  readonly scene: Scene;
  readonly frameCount: number;
  readonly width: number;
  readonly height: number;
  readonly picture: Picture | null;
}
