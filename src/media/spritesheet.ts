import { JobError } from "../core/errors.js";
import { type Frame, halfSizeRgb } from "./i420.js";
import { type Rgb, sharp, SOURCE_XMP } from "./image.js";

/** Longer side of a tile, in pixels. */
const TILE_SIDE = 320;

/** Tiles in a row. */
const COLUMNS = 4;

/** Tiles of a sheet; a caller picks as many frames, evenly spread. */
const SHEET_TILES = 12;

/** Frame numbers of `tiles` frames spread evenly over a clip, first frame included, counted from 0. */
export function sheetFrames(frameCount: number, tiles: number = SHEET_TILES): number[] {
  const count = Math.min(frameCount, tiles);
  return Array.from({ length: count }, (_, tile) => Math.floor((tile * frameCount) / count));
}

/** A tile of a sheet from a frame: RGB, longer side 320 pixels. About 6 CPU-ms for 720p. */
export function sheetTile(frame: Frame): Promise<Rgb> {
  return scaledRgb(frame, TILE_SIDE);
}

/** A tile as WebP of about 10 kB, for the moment. */
export function tileWebp({ pixels, width, height }: Rgb): Promise<Uint8Array> {
  return sharp(pixels, { raw: { width, height, channels: 3 } })
    .webp({ quality: 75, effort: 0 })
    .toBuffer();
}

/** Tiles of one size as a contact sheet in WebP: rows of four, read like text. */
export async function joinTiles(tiles: readonly Rgb[]): Promise<Uint8Array> {
  const [first] = tiles;
  if (first === undefined)
    throw new JobError("invalid_output", "a contact sheet must have at least 1 frame, got 0");
  const { width, height } = first;
  const columns = Math.min(COLUMNS, tiles.length);
  const sheet = { width: columns * width, height: Math.ceil(tiles.length / columns) * height };
  const pixels = new Uint8Array(3 * sheet.width * sheet.height);
  for (const [index, tile] of tiles.entries()) {
    const top = Math.floor(index / columns) * height;
    const left = (index % columns) * width;
    for (let row = 0; row < height; row += 1) {
      const line = tile.pixels.subarray(3 * row * width, 3 * (row + 1) * width);
      pixels.set(line, 3 * ((top + row) * sheet.width + left));
    }
  }
  return sharp(pixels, { raw: { ...sheet, channels: 3 } })
    .withXmp(SOURCE_XMP)
    .webp({ quality: 80, effort: 2 })
    .toBuffer();
}

/** Longer side of a thumbnail, in pixels. */
const LONGER_SIDE = 640;

/** One frame as WebP, its longer side 640 pixels (or half the frame's, if that is less). */
export async function thumbnailWebp(frame: Frame): Promise<Uint8Array> {
  const { pixels, width, height } = await scaledRgb(frame, LONGER_SIDE);
  return sharp(pixels, { raw: { width, height, channels: 3 } })
    .withXmp(SOURCE_XMP)
    .webp({ quality: 80, effort: 2 })
    .toBuffer();
}

/** The frame as RGB whose longer side is `longerSide` pixels, at most half the frame's. */
async function scaledRgb(frame: Frame, longerSide: number): Promise<Rgb> {
  const half = halfSizeRgb(frame);
  const raw = { width: half.width, height: half.height, channels: 3 } as const;
  const { data, info } = await sharp(half.pixels, { raw })
    .resize({ width: longerSide, height: longerSide, fit: "inside", withoutEnlargement: true })
    .raw()
    .toBuffer({ resolveWithObject: true });
  return { pixels: data, width: info.width, height: info.height };
}
