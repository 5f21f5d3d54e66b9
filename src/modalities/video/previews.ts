import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { PipelineEvent } from "../../core/events.js";
import type { ClipFormat } from "../../media/encoder.js";
import { frameByteLength } from "../../media/i420.js";
import {
  joinTiles,
  sheetFrames,
  sheetTile,
  thumbnailWebp,
  tileWebp,
} from "../../media/spritesheet.js";
import type { FrameWindow } from "../../models/video/video-model.js";
import type { VideoOutput } from "./request.js";

type Tile = Awaited<ReturnType<typeof sheetTile>>;

/** Pictures of a clip, made from its frames while they go by. */
export interface Previews {
  add(window: FrameWindow): Promise<void>;
  /** The newest picture for whoever waits, once. */
  takeNewest(): PipelineEvent<VideoOutput>[];
  /** Writes thumbnail and spritesheet to the scratch folder and names them. */
  write(scratchPath: string): Promise<PipelineEvent<VideoOutput>[]>;
}

/** Of the sheet's tiles every second one is shown while the clip is made. */
const SHOWN_TILES = 2;

/** The thumbnail shows the middle of the clip. */
export function createPreviews({ width, height, frameCount }: ClipFormat): Previews {
  const tileFrames = new Set(sheetFrames(frameCount));
  const middle = Math.floor(frameCount / 2);
  const size = frameByteLength(width, height);
  const tiles: Tile[] = [];
  let thumbnail: Uint8Array = new Uint8Array();
  let sheet: Promise<Uint8Array> | undefined;
  let newest: Uint8Array | undefined;
  const show = (tile: Tile) =>
    // Nobody waits for it: a picture that fails is one that is not shown.
    void tileWebp(tile).then(
      (bytes) => (newest = bytes),
      () => {},
    );
  return {
    takeNewest() {
      const bytes = newest;
      newest = undefined;
      return bytes === undefined ? [] : [{ type: "preview", bytes }];
    },
    async add({ firstFrame, count, frames }) {
      for (let index = 0; index < count; index++) {
        const pixels = frames.subarray(index * size, (index + 1) * size);
        const frame = { pixels, width, height };
        if (tileFrames.has(firstFrame + index)) {
          const tile = await sheetTile(frame);
          if (tiles.length % SHOWN_TILES === 0) show(tile);
          tiles.push(tile);
        }
        if (firstFrame + index === middle) thumbnail = await thumbnailWebp(frame);
      }
      if (sheet !== undefined || tiles.length < tileFrames.size) return;
      sheet = joinTiles(tiles);
      // Whoever writes it sees the rejection.
      sheet.catch(() => {});
    },
    async write(scratchPath) {
      const pictures = { thumbnail, spritesheet: await (sheet ?? joinTiles(tiles)) };
      return Promise.all(
        Object.entries(pictures).map(async ([variant, bytes]) => {
          const path = join(scratchPath, `${variant}.webp`);
          await writeFile(path, bytes);
          return { type: "file", variant, path, mediaType: "image/webp" } as const;
        }),
      );
    },
  };
}
