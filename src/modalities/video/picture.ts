import { float32, floatsOf } from "../../inference/tensor.js";
import { coverRgb } from "../../media/image.js";
import type { ClipTask } from "./clip-task.js";
import type { Picture } from "./decode-frames.js";
import { between } from "./denoise.js";

/** The picture to animate, as the denoiser and the frame decoder want it. */
export interface ConditioningPicture {
  /** Background tokens [60, 64], float32. */
  readonly tokens: Float32Array;
  forFrames(frameCount: number): Picture;
}

/** The part of the model's 96 rows that a frame shows, and the rows above and below it. */
const SHOWN = { rows: 90, columns: 160 };
const MARGIN_ROWS = 3;

export async function readPicture(task: ClipTask): Promise<ConditioningPicture | null> {
  const { model, request, context } = task;
  if (request.image === null) return null;
  const { detailFrom, detailTo } = model.settings.shapes.imageConditioning;
  const bytes = await context.readInput(request.image);
  const small = withMargins(await coverRgb(bytes, SHOWN.columns, SHOWN.rows));
  const rows = SHOWN.rows + 2 * MARGIN_ROWS;
  const pixels = Float32Array.from(toPlanes(small, SHOWN.columns, rows), (it) => it / 127.5 - 1);
  const outputs = await model.clip.run("image-encoder", {
    pixels: float32(pixels, [1, 3, rows, SHOWN.columns]),
  });
  const { width, height } = request;
  const planes = toPlanes(await coverRgb(bytes, width, height), width, height);
  return {
    tokens: floatsOf(outputs, "latents"),
    forFrames: (frameCount) => ({
      planes,
      weights: Float32Array.from({ length: frameCount }, (_, frame) =>
        between(detailFrom, detailTo, frame / (frameCount - 1)),
      ),
    }),
  };
}

/** RGB [90, 160, 3] to [96, 160, 3]: the first and the last row stand for what is not shown. */
function withMargins(rgb: Uint8Array): Uint8Array {
  const rowBytes = SHOWN.columns * 3;
  const first = Array.from({ length: MARGIN_ROWS }, () => rgb.subarray(0, rowBytes));
  const last = Array.from({ length: MARGIN_ROWS }, () => rgb.subarray(-rowBytes));
  return Buffer.concat([...first, rgb, ...last]);
}

/** RGB uint8 [height, width, 3] to [3, height, width]. */
function toPlanes(rgb: Uint8Array, width: number, height: number): Uint8Array {
  const size = width * height;
  const planes = new Uint8Array(3 * size);
  for (let at = 0; at < size; at++) {
    planes[at] = rgb[3 * at] ?? 0;
    planes[size + at] = rgb[3 * at + 1] ?? 0;
    planes[2 * size + at] = rgb[3 * at + 2] ?? 0;
  }
  return planes;
}
