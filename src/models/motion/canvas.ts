import { bytesOf, float32, floatsOf, type Tensors } from "../../runtime/tensors/tensor.js";
import type { Canvas, FramePlan, Plane } from "./frame-plan.js";
import type { MotionModel } from "./model.js";

/** Numbers of one look. */
const LOOK_SIZE = 6;
const STRENGTH = 5;
const ASPECT = 16 / 9;

/** Paints the clip's canvas as fine as its closest camera sees it, once for all frames. */
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
  return zoom;
}

function centres(count: number, extent: number) {
  const places = Float32Array.from({ length: count }, (_, at) => ((at + 0.5) / count) * extent);
  return float32(places, [count]);
}

/** The nearest even number. */
function even(value: number): number {
  return 2 * Math.floor(value / 2 + 0.5);
}
