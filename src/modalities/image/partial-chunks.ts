import { z } from "zod";
import type { Chunk } from "../../core/events.js";

/** Most bytes of one chunk; a picture of more goes in several. */
const MAX_CHUNK_BYTES = 192 * 1_024;

const header = z.object({
  /** Which unfinished state of its picture, from 0. */
  partial: z.int().min(0),
  /** Which picture of the request, from 0. */
  index: z.int().min(0),
  byteLength: z.int().positive(),
  width: z.int().positive(),
  height: z.int().positive(),
});

export type PartialHeader = z.infer<typeof header>;

export interface PartialImage extends PartialHeader {
  /** A whole file in the format that was asked for. */
  readonly bytes: Uint8Array;
}

/** A header as JSON, then the file's bytes; a picture that was shown unfinished counts as one. */
export function* partialChunks(partial: Omit<PartialImage, "byteLength">): Generator<Chunk> {
  const { bytes, ...rest } = partial;
  const value: PartialHeader = { ...rest, byteLength: bytes.byteLength };
  yield { type: "json", value };
  const units = { images: partial.index + 1 };
  for (let start = 0; start < bytes.byteLength; start += MAX_CHUNK_BYTES) {
    const end = start + MAX_CHUNK_BYTES;
    const isLast = end >= bytes.byteLength;
    yield { type: "bytes", bytes: bytes.subarray(start, end), ...(isLast && { units }) };
  }
}

/** The pictures of such chunks, however their bytes were cut on the way. */
export async function* readPartials(chunks: AsyncIterable<Chunk>): AsyncGenerator<PartialImage> {
  let current: PartialHeader | undefined;
  let pieces: Uint8Array[] = [];
  let received = 0;
  for await (const chunk of chunks) {
    if (chunk.type === "json") {
      current = header.parse(chunk.value);
      pieces = [];
      received = 0;
      continue;
    }
    pieces.push(chunk.bytes);
    received += chunk.bytes.byteLength;
    if (current === undefined || received < current.byteLength) continue;
    yield { ...current, bytes: Buffer.concat(pieces) };
    current = undefined;
  }
}
