import { mkdir } from "node:fs/promises";
import { dirname } from "node:path";
import ffmpeg from "fluent-ffmpeg";
import { JobError } from "../core/errors.js";
import { commandArguments, ownFileInput, runFfmpeg } from "./ffmpeg.js";
import { type Frame, type RgbPicture, scaledRgb } from "./frame-picture.js";
import { probeMedia } from "./probe.js";
import { sharp } from "./safe-sharp.js";

/** Longer side of a tile, in pixels. */
const TILE_SIDE = 320;

/** Tiles of a sheet; a caller picks as many frames, evenly spread. */
const SHEET_TILES = 12;

/** Frame numbers of `tiles` frames spread evenly over a clip, first frame included, counted from 0. */
export function sheetFrames(frameCount: number, tiles: number = SHEET_TILES): number[] {
  const count = Math.min(frameCount, tiles);
  return Array.from({ length: count }, (_, tile) => Math.floor((tile * frameCount) / count));
}

/** A tile of a sheet from a frame: RGB, longer side 320 pixels. About 6 CPU-ms for 720p. */
export function sheetTile(frame: Frame): Promise<RgbPicture> {
  return scaledRgb(frame, TILE_SIDE);
}

/** Frames of one size as a contact sheet in WebP: rows of four, read like text. */
export async function spritesheetWebp(frames: readonly Frame[]): Promise<Uint8Array> {
  return joinTiles(await Promise.all(frames.map(sheetTile)));
}

/** Tiles of one size as a contact sheet in WebP; for those who make tiles as frames go by. */
export async function joinTiles(tiles: readonly RgbPicture[], columns = 4): Promise<Uint8Array> {
  const [first] = tiles;
  if (first === undefined)
    throw new JobError("invalid_output", "a contact sheet must have at least 1 frame, got 0");
  const { width, height } = first;
  const layers = tiles.map((tile, index) => ({
    input: Buffer.from(tile.pixels.buffer, tile.pixels.byteOffset, tile.pixels.byteLength),
    raw: { width: tile.width, height: tile.height, channels: 3 as const },
    left: (index % columns) * width,
    top: Math.floor(index / columns) * height,
  }));
  const rows = Math.ceil(tiles.length / columns);
  const sheet = { width: Math.min(columns, tiles.length) * width, height: rows * height };
  return sharp({ create: { ...sheet, channels: 3, background: "#000000" } })
    .composite(layers)
    .webp({ quality: 80, effort: 2 })
    .toBuffer();
}

export interface ContactSheetOptions {
  readonly columns?: number;
  readonly rows?: number;
  /** Width of a tile in pixels; default 320. */
  readonly tileWidth?: number;
}

/** Writes a picture (`.png` or `.webp`) with frames spread evenly over a finished MP4. */
export async function contactSheet(
  clip: string,
  picture: string,
  options: ContactSheetOptions = {},
): Promise<void> {
  const { columns = 4, rows = 3, tileWidth = TILE_SIDE } = options;
  const { video } = await probeMedia(clip);
  if (video === undefined)
    throw new JobError("invalid_output", `contact sheet: ${clip} has no video track`);
  const step = Math.max(1, Math.floor(video.frameCount / (columns * rows)));
  const filter = `select='not(mod(n,${step}))',scale=${tileWidth}:-2,tile=${columns}x${rows}`;
  const command = ffmpeg()
    .outputOptions("-map", "0:v:0", "-frames:v", "1", "-update", "1")
    .videoCodec(picture.endsWith(".webp") ? "libwebp" : "png")
    .videoFilters(filter)
    .format("image2")
    .output(`file:${picture}`);
  await mkdir(dirname(picture), { recursive: true });
  await runFfmpeg([
    "-v",
    "error",
    "-nostdin",
    "-y",
    ...ownFileInput(clip),
    ...commandArguments(command),
  ]);
}
