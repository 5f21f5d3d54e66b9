import { readBoxes, viewOf } from "./mp4.js";

/** A piece of a fragmented MP4: its head (`ftyp`, `moov`), which has no frames, or a `moof` and its `mdat`. */
export interface Fragment {
  readonly bytes: Uint8Array;
  /** Of the first track. */
  readonly frames: number;
}

/** Cuts what ffmpeg writes into its pieces, whatever the chunks it comes in. */
export function createFragmentReader(onFragment: (fragment: Fragment) => void) {
  let chunks: Buffer[] = [];
  let held = 0;
  let needed = HEADER_BYTES;
  return (chunk: Buffer): void => {
    chunks.push(chunk);
    held += chunk.byteLength;
    while (held >= needed) {
      const bytes = Buffer.concat(chunks);
      const { end, isWhole } = findEnd(bytes);
      chunks = [bytes];
      needed = end;
      if (!isWhole) continue;
      onFragment({ bytes: bytes.subarray(0, end), frames: countFrames(bytes.subarray(0, end)) });
      chunks = [bytes.subarray(end)];
      held -= end;
      needed = HEADER_BYTES;
    }
  };
}

/** Size and type of a box. */
const HEADER_BYTES = 8;
const LAST_BOXES = new Set(["moov", "mdat"]);

/** Where the first piece ends, or, where it is not whole, how many bytes must be there to know more. */
function findEnd(bytes: Buffer): { readonly end: number; readonly isWhole: boolean } {
  let end = 0;
  while (end + HEADER_BYTES <= bytes.byteLength) {
    const byteLength = bytes.readUInt32BE(end);
    if (byteLength < HEADER_BYTES) throw new Error(`a box of ${byteLength} bytes`);
    const type = bytes.toString("latin1", end + 4, end + HEADER_BYTES);
    end += byteLength;
    if (LAST_BOXES.has(type)) return { end, isWhole: end <= bytes.byteLength };
  }
  return { end: end + HEADER_BYTES, isWhole: false };
}

/** Samples of the first track's runs (`moof.traf.trun`); none in a head. */
function countFrames(bytes: Uint8Array): number {
  const view = viewOf(bytes);
  const inside = (type: string, boxes: ReturnType<typeof readBoxes>) => {
    const box = boxes.find((one) => one.type === type);
    return box === undefined ? [] : readBoxes(view, box.content, box.end);
  };
  const fragment = inside("moof", readBoxes(view, 0, bytes.byteLength));
  const runs = inside("traf", fragment).filter(({ type }) => type === "trun");
  return runs.reduce((sum, { content }) => sum + view.getUint32(content + 4), 0);
}
