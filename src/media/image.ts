import { type FailureCode, JobError } from "../core/errors.js";
import { sharp } from "./safe-sharp.js";

/** Most pixels of an uploaded picture, told from its header before anything is decoded. */
const MAX_PIXELS = 40_000_000;
const MIN_SIDE = 64;
const MAX_SIDE = 8192;
const TIMEOUT_SECONDS = 5;

export interface ImageOptions {
  /** Request field the picture came in, for the error. */
  readonly param: string;
}

/** A picture that was decoded whole, turned upright and written anew. */
export interface ValidImage {
  /** Pixels, of `bytes`. */
  readonly width: number;
  readonly height: number;
  readonly mediaType: "image/png";
  /** PNG, sRGB, no alpha, no metadata; no bigger than needed to cover 1920 × 1080 (or 1080 × 1920). */
  readonly bytes: Uint8Array;
}

interface ImageHeader {
  readonly width: number;
  readonly height: number;
}

/**
 * Validates an uploaded PNG, JPEG or WebP and normalises it: first frame, EXIF rotation applied, alpha
 * on white. Throws `invalid_image_format`, `image_too_large`, `invalid_value` or `image_parse_error`.
 */
export async function readImage(bytes: Uint8Array, { param }: ImageOptions): Promise<ValidImage> {
  if (mediaTypeOf(bytes) === undefined)
    throw new JobError("invalid_image_format", `${param} must be a PNG, JPEG or WebP picture`, {
      param,
    });
  const header = await readHeader(bytes, param);
  checkSize(header, param);
  const landscape = header.width >= header.height;
  try {
    const { data, info } = await sharp(bytes, { limitInputPixels: MAX_PIXELS, failOn: "warning" })
      .timeout({ seconds: TIMEOUT_SECONDS })
      .autoOrient()
      .resize({
        width: landscape ? 1920 : 1080,
        height: landscape ? 1080 : 1920,
        fit: "outside",
        withoutEnlargement: true,
      })
      .flatten({ background: "#ffffff" })
      .toColourspace("srgb")
      .png({ compressionLevel: 3 })
      .toBuffer({ resolveWithObject: true });
    return { width: info.width, height: info.height, mediaType: "image/png", bytes: data };
  } catch (cause) {
    throw parseError(cause, param);
  }
}

/** RGB [height, width, 3], uint8, of a valid picture: scaled to cover the frame, the rest cut evenly. */
export async function coverRgb(
  bytes: Uint8Array,
  width: number,
  height: number,
): Promise<Uint8Array> {
  return sharp(bytes, { limitInputPixels: MAX_PIXELS })
    .autoOrient()
    .resize({ width, height, fit: "cover", position: "centre" })
    .flatten({ background: "#ffffff" })
    .toColourspace("srgb")
    .raw()
    .toBuffer();
}

/** Bytes of `data:image/png;base64,…` (or JPEG, WebP). Their content is for `readImage` to judge. */
export function decodeDataUrl(text: string, param: string): Uint8Array {
  const comma = text.slice(0, 200).indexOf(",");
  const match = /^data:([a-z]+\/[a-z0-9.+-]+)((?:;[a-z0-9=._-]+)*)$/i.exec(
    text.slice(0, comma === -1 ? 0 : comma),
  );
  const [, mediaType = "", attributes = ""] = match ?? [];
  if (match === null || !attributes.toLowerCase().endsWith(";base64"))
    throw new JobError(
      "invalid_base64_image",
      `${param} must be a data URL: data:image/png;base64,…`,
      { param },
    );
  if (!/^image\/(png|jpe?g|webp)$/i.test(mediaType)) {
    const message = `${param} must be image/png, image/jpeg or image/webp, got ${mediaType}`;
    throw new JobError("invalid_image_format", message, { param });
  }
  return decodeBase64(text.slice(comma + 1), param);
}

/** Media type by the first bytes; undefined for everything but PNG, JPEG and WebP. */
export function mediaTypeOf(
  bytes: Uint8Array,
): "image/png" | "image/jpeg" | "image/webp" | undefined {
  const magic = Buffer.from(
    bytes.buffer,
    bytes.byteOffset,
    Math.min(bytes.byteLength, 12),
  ).toString("latin1");
  if (magic.startsWith("\x89PNG\r\n\x1a\n")) return "image/png";
  if (magic.startsWith("\xff\xd8\xff")) return "image/jpeg";
  if (magic.startsWith("RIFF") && magic.endsWith("WEBP")) return "image/webp";
  return undefined;
}

/** Upright size, from the header alone. */
async function readHeader(bytes: Uint8Array, param: string): Promise<ImageHeader> {
  try {
    const { autoOrient } = await sharp(bytes, {
      limitInputPixels: false,
      failOn: "warning",
    }).metadata();
    return autoOrient;
  } catch (cause) {
    throw parseError(cause, param);
  }
}

function checkSize({ width, height }: ImageHeader, param: string): void {
  const refuse = (code: FailureCode, limit: string, got: string): never => {
    throw new JobError(code, `${param} must have ${limit}, got ${got}`, { param });
  };
  const size = `${width} × ${height}`;
  if (width * height > MAX_PIXELS)
    refuse("image_too_large", `at most ${MAX_PIXELS} pixels`, `${width * height} (${size})`);
  if (Math.max(width, height) > MAX_SIDE)
    refuse("image_too_large", `sides of at most ${MAX_SIDE} pixels`, size);
  if (Math.min(width, height) < MIN_SIDE)
    refuse("invalid_value", `sides of at least ${MIN_SIDE} pixels`, size);
}

/** Node skips what is not base64, so the length tells whether all of it was. */
function decodeBase64(text: string, param: string): Uint8Array {
  const bytes = Buffer.from(text, "base64");
  const digits = text.length - (text.endsWith("==") ? 2 : text.endsWith("=") ? 1 : 0);
  if (digits === 0 || digits % 4 === 1 || bytes.byteLength !== Math.floor((digits * 3) / 4))
    throw new JobError("invalid_base64_image", `${param} is not valid base64`, { param });
  return bytes;
}

function parseError(cause: unknown, param: string): JobError {
  const reason = cause instanceof Error ? (cause.message.split("\n")[0] ?? "") : String(cause);
  return new JobError("image_parse_error", `${param} could not be decoded: ${reason}`, {
    param,
    cause,
  });
}
