import { sharp } from "./safe-sharp.js";

export const PICTURE_FORMATS = ["png", "jpeg", "webp"] as const;
export type PictureFormat = (typeof PICTURE_FORMATS)[number];

/** RGB pixels [height, width, 3], uint8. */
export interface Rgb {
  readonly pixels: Uint8Array;
  readonly width: number;
  readonly height: number;
}

/** RGB bytes of planes [3, height, width], float32; -1 is black, 1 white, what lies beyond is cut. */
export function rgbOfPlanes(planes: Float32Array, width: number, height: number): Rgb {
  const size = width * height;
  const pixels = new Uint8ClampedArray(size * 3);
  for (let index = 0; index < size; index += 1) {
    for (let channel = 0; channel < 3; channel += 1)
      pixels[index * 3 + channel] = ((planes[channel * size + index] ?? 0) + 1) * 127.5;
  }
  return { pixels: new Uint8Array(pixels.buffer), width, height };
}

/** A file of the picture. `quality` 0 to 100 is for JPEG and WebP; PNG keeps every pixel. */
export async function encodePicture(
  { pixels, width, height }: Rgb,
  format: PictureFormat,
  quality: number,
): Promise<Uint8Array> {
  const picture = sharp(pixels, { raw: { width, height, channels: 3 } });
  // libjpeg and libwebp count from 1.
  const atLeast1 = Math.max(1, quality);
  switch (format) {
    case "png":
      return picture.png({ compressionLevel: 6 }).toBuffer();
    case "jpeg": {
      const chromaSubsampling = quality >= 90 ? "4:4:4" : "4:2:0";
      return picture.jpeg({ quality: atLeast1, chromaSubsampling }).toBuffer();
    }
    case "webp":
      return picture.webp({ quality: atLeast1, effort: 3 }).toBuffer();
    default:
      return format satisfies never;
  }
}
