import { type Frame, scaledRgb } from "./frame-picture.js";
import { sharp } from "./safe-sharp.js";

/** Longer side of a thumbnail, in pixels. */
const LONGER_SIDE = 640;

/** One frame as WebP, its longer side 640 pixels (or half the frame's, if that is less). */
export async function thumbnailWebp(frame: Frame): Promise<Uint8Array> {
  const { pixels, width, height } = await scaledRgb(frame, LONGER_SIDE);
  return sharp(pixels, { raw: { width, height, channels: 3 } })
    .webp({ quality: 80, effort: 2 })
    .toBuffer();
}
