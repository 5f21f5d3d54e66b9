import sharp from "sharp";
import { type FailureCode, JobError } from "../core/errors.js";
import { SOURCE_TYPES } from "../core/source-type.js";

// Loaders decide what bytes may become: all blocked (SVG, PDF, HEIF, ImageMagick, ...) but these three.
sharp.block({ operation: ["VipsForeignLoad"] });
sharp.unblock({ operation: ["VipsForeignLoadPng", "VipsForeignLoadJpeg", "VipsForeignLoadWebp"] });
// Every picture is seen once: a cache would only hold memory.
sharp.cache(false);

/** sharp that opens PNG, JPEG, WebP and raw pixels, nothing else. Import it from here only. */
export { sharp };

/** Most pixels of an uploaded picture, read from its header before anything is decoded. */
const MAX_PIXELS = 40_000_000;
const MIN_SIDE = 64;
const MAX_SIDE = 8192;
const TIMEOUT_SECONDS = 5;

/** Covers the largest frame of a clip. */
function coveringFrame({ width, height }: Size) {
  const landscape = width >= height;
  const frame = { width: landscape ? 1920 : 1080, height: landscape ? 1080 : 1920 };
  return { ...frame, fit: "outside", withoutEnlargement: true } as const;
}

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

/** Pixels. */
interface Size {
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
  try {
    const { data, info } = await sharp(bytes, { limitInputPixels: MAX_PIXELS, failOn: "warning" })
      .timeout({ seconds: TIMEOUT_SECONDS })
      .autoOrient()
      .resize(coveringFrame(header))
      .flatten({ background: "#ffffff" })
      .toColourspace("srgb")
      .png({ compressionLevel: 3 })
      .toBuffer({ resolveWithObject: true });
    return { width: info.width, height: info.height, mediaType: "image/png", bytes: data };
  } catch (cause) {
    throw parseError(cause, param);
  }
}

/**
 * Validates the mask of an uploaded picture: a PNG of its size with an alpha channel. Gives it in grey, as
 * large as `readImage` makes the picture, white where it was transparent. Throws as that does.
 */
export async function readMask(
  bytes: Uint8Array,
  { param, picture }: ImageOptions & { readonly picture: Uint8Array },
): Promise<ValidImage> {
  if (mediaTypeOf(bytes) !== "image/png")
    throw new JobError("invalid_image_format", `${param} must be a PNG picture`, { param });
  const header = await readHeader(bytes, param);
  const { width, height } = await readHeader(picture, param);
  const refuse = (must: string, got: string): never => {
    throw new JobError("invalid_value", `${param} must have ${must}, got ${got}`, { param });
  };
  if (header.width !== width || header.height !== height)
    refuse(
      `the size of the picture, ${width} × ${height} pixels`,
      `${header.width} × ${header.height}`,
    );
  if (!header.hasAlpha)
    refuse("an alpha channel: what is transparent is made anew", "an opaque picture");
  try {
    const { data, info } = await sharp(bytes, { limitInputPixels: MAX_PIXELS, failOn: "warning" })
      .timeout({ seconds: TIMEOUT_SECONDS })
      .extractChannel("alpha")
      .negate()
      .resize(coveringFrame(header))
      .png({ compressionLevel: 3 })
      .toBuffer({ resolveWithObject: true });
    return { width: info.width, height: info.height, mediaType: "image/png", bytes: data };
  } catch (cause) {
    throw parseError(cause, param);
  }
}

/** [height, width], uint8, of a mask that `readMask` gave: 1 where it is white, cut as `coverRgb` cuts. */
export async function coverMask(
  bytes: Uint8Array,
  width: number,
  height: number,
): Promise<Uint8Array> {
  const grey = await sharp(bytes)
    .resize({ width, height, fit: "cover", position: "centre" })
    .extractChannel(0)
    .raw()
    .toBuffer();
  return grey.map((value) => (value < 128 ? 0 : 1));
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

/** Blurred at this share of the frame's size: nobody sees the difference, and it takes a fraction of the time. */
const BORDER_SCALE = 1 / 8;
/** Standard deviation of the blur, of the frame's longer side. */
const BORDER_BLUR = 1 / 40;

/**
 * RGB [height, width, 3], uint8, of a valid picture: scaled to fit whole in the middle of the frame; a
 * border that remains shows the same picture covering the frame, blurred.
 */
export async function containRgb(
  bytes: Uint8Array,
  width: number,
  height: number,
): Promise<Uint8Array> {
  const { data: picture, info } = await sharp(bytes, { limitInputPixels: MAX_PIXELS })
    .autoOrient()
    .resize({ width, height, fit: "inside" })
    .flatten({ background: "#ffffff" })
    .toColourspace("srgb")
    .raw()
    .toBuffer({ resolveWithObject: true });
  if (info.width === width && info.height === height) return picture;
  const small = {
    width: Math.max(1, Math.round(width * BORDER_SCALE)),
    height: Math.max(1, Math.round(height * BORDER_SCALE)),
  };
  const blurred = await sharp(await coverRgb(bytes, small.width, small.height), {
    raw: { ...small, channels: 3 },
  })
    .blur(Math.max(0.5, Math.max(small.width, small.height) * BORDER_BLUR))
    .raw()
    .toBuffer();
  return sharp(blurred, { raw: { ...small, channels: 3 } })
    .resize({ width, height, fit: "fill", kernel: "cubic" })
    .composite([
      { input: picture, raw: { width: info.width, height: info.height, channels: info.channels } },
    ])
    .removeAlpha()
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
async function readHeader(
  bytes: Uint8Array,
  param: string,
): Promise<Size & { readonly hasAlpha: boolean }> {
  try {
    const { autoOrient, hasAlpha } = await sharp(bytes, {
      limitInputPixels: false,
      failOn: "warning",
    }).metadata();
    return { ...autoOrient, hasAlpha };
  } catch (cause) {
    throw parseError(cause, param);
  }
}

function checkSize({ width, height }: Size, param: string): void {
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

/** Node skips what is not base64, so the length shows whether all of it was. */
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

/** Planes [3, height, width], float32 in [-1, 1], of RGB bytes [height, width, 3]. */
export function planesOfRgb(pixels: Uint8Array): Float32Array {
  const size = pixels.length / 3;
  return Float32Array.from({ length: pixels.length }, (_, index) => {
    const value = pixels[(index % size) * 3 + Math.floor(index / size)] ?? 0;
    return value / 127.5 - 1;
  });
}

/** XMP of IPTC's words that says a model made the picture. */
export const SOURCE_XMP = `<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"><rdf:Description rdf:about="" xmlns:Iptc4xmpExt="http://iptc.org/std/Iptc4xmpExt/2008-02-29/"><Iptc4xmpExt:DigitalSourceType>${SOURCE_TYPES.generated}</Iptc4xmpExt:DigitalSourceType></rdf:Description></rdf:RDF></x:xmpmeta>`;

/** A file of the picture. `quality` 0 to 100 is for JPEG and WebP; PNG keeps every pixel. */
export async function encodePicture(
  { pixels, width, height }: Rgb,
  format: PictureFormat,
  quality: number,
): Promise<Uint8Array> {
  const picture = sharp(pixels, { raw: { width, height, channels: 3 } }).withXmp(SOURCE_XMP);
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
