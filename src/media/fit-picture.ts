import { sharp } from "./safe-sharp.js";

/** What a picture classifier wants of a picture's size. */
export interface PictureFit {
  /** Stretched to this size, or scaled until the shorter side has it; kept where null. */
  readonly resize:
    | { readonly width: number; readonly height: number }
    | { readonly shortestEdge: number }
    | null;
  /** [width, height] of the result, cut from the middle. */
  readonly size: readonly [number, number];
  readonly filter: "nearest" | "lanczos" | "bilinear" | "bicubic";
}

const KERNELS = {
  nearest: "nearest",
  lanczos: "lanczos3",
  bilinear: "linear",
  bicubic: "cubic",
} as const;

/** RGB [height, width, 3], uint8, of a picture that `readImage` wrote; black where it is too small. */
export async function fitPicture(
  bytes: Uint8Array,
  { resize, size: [width, height], filter }: PictureFit,
): Promise<Uint8Array> {
  const picture = sharp(bytes).flatten({ background: "#ffffff" }).toColourspace("srgb");
  if (resize !== null) {
    const kernel = KERNELS[filter];
    if ("width" in resize) picture.resize({ ...resize, fit: "fill", kernel });
    else {
      const { shortestEdge: edge } = resize;
      picture.resize({ width: edge, height: edge, fit: "outside", kernel });
    }
  }
  const { data, info } = await picture.raw().toBuffer({ resolveWithObject: true });
  return cutMiddle(data, info, { width, height });
}

interface Size {
  readonly width: number;
  readonly height: number;
}

/** RGB of the middle part; what the picture lacks is black. */
function cutMiddle(rgb: Uint8Array, from: Size, to: Size): Uint8Array {
  if (from.width === to.width && from.height === to.height) return rgb;
  const result = new Uint8Array(to.width * to.height * 3);
  const left = Math.trunc((from.width - to.width) / 2);
  const top = Math.trunc((from.height - to.height) / 2);
  const columns = Math.min(from.width, to.width);
  for (let row = Math.max(0, -top); row < Math.min(to.height, from.height - top); row += 1) {
    const source = ((row + top) * from.width + Math.max(0, left)) * 3;
    result.set(
      rgb.subarray(source, source + columns * 3),
      (row * to.width + Math.max(0, -left)) * 3,
    );
  }
  return result;
}
