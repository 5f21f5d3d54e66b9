import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { PipelineEvent } from "../../core/events.js";
import { frameByteLength } from "../../media/encoder.js";
import { joinTiles, sheetFrames, sheetTile } from "../../media/spritesheet.js";
import { thumbnailWebp } from "../../media/thumbnail.js";
import type { FrameWindow } from "./decode-frames.js";
import type { VideoOutput, VideoRequest } from "./request.js";

type Tile = Awaited<ReturnType<typeof sheetTile>>;

/** Pictures of a clip, made from its frames while they go by. */
export interface Previews {
  add(window: FrameWindow): Promise<void>;
  /** Writes thumbnail and spritesheet to the scratch folder and names them. */
  write(scratchPath: string): Promise<PipelineEvent<VideoOutput>[]>;
}

/** The thumbnail shows the middle of the clip. */
export function createPreviews({ width, height }: VideoRequest, frameCount: number): Previews {
  const wanted = new Set(sheetFrames(frameCount));
  const middle = Math.floor(frameCount / 2);
  const size = frameByteLength(width, height);
  const tiles: Tile[] = [];
  let thumbnail: Uint8Array = new Uint8Array();
  let sheet: Promise<Uint8Array> | undefined;
  return {
    async add({ firstFrame, count, frames }) {
      for (let index = 0; index < count; index++) {
        const pixels = frames.subarray(index * size, (index + 1) * size);
        const frame = { pixels, width, height };
        if (wanted.has(firstFrame + index)) tiles.push(await sheetTile(frame));
        if (firstFrame + index === middle) thumbnail = await thumbnailWebp(frame);
      }
      if (sheet !== undefined || tiles.length < wanted.size) return;
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
