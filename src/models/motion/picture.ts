import type { PipelineContext } from "../../core/modality.js";
import { float32, floatsOf, uint8 } from "../../runtime/tensors/tensor.js";
import { coverRgb } from "../../media/image.js";
import { planesOf } from "./canvas.js";
import type { Picture } from "./frame-plan.js";
import type { MotionModel } from "./motion-model.js";
import type { ClipRequest } from "../video/family.js";

/** The picture to animate, as the denoiser and the frame decoder want it. */
export interface ConditioningPicture extends Picture {
  /** Canvas tokens [canvas tokens, channels], float32. */
  readonly tokens: Float32Array;
}

/** What the image encoder sees. */
const SEEN = { rows: 90, columns: 160 };

export async function readPicture(
  model: MotionModel,
  request: ClipRequest,
  context: PipelineContext,
): Promise<ConditioningPicture | null> {
  if (request.image === null) return null;
  const bytes = await context.readInput(request.image);
  const small = toPlanes(await coverRgb(bytes, SEEN.columns, SEEN.rows), SEEN.columns, SEEN.rows);
  const pixels = Float32Array.from(small, (value) => value / 127.5 - 1);
  const outputs = await model.clip.run("image-encoder", {
    pixels: float32(pixels, [1, 3, SEEN.rows, SEEN.columns]),
  });
  return {
    tokens: floatsOf(outputs, "latents"),
    async paint(rows, columns) {
      const planes = toPlanes(await coverRgb(bytes, columns, rows), columns, rows);
      const picture = uint8(planes, [1, 3, rows, columns]);
      return planesOf(await model.clip.run("picture-canvas", { picture }));
    },
  };
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
