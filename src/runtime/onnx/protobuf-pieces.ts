import { closeSync, openSync, readSync, writeSync } from "node:fs";
import { bytesHeader } from "./protobuf-write.js";

/** A piece of a new file: bytes of the old one, or new ones. */
export type Piece = FileRange | Buffer;

interface FileRange {
  readonly from: number;
  readonly to: number;
}

const COPY_BYTES = 1 << 22;

/** A field whose content are these pieces. */
export function bytesPieces(field: number, content: readonly Piece[]): Piece[] {
  return [bytesHeader(field, lengthOf(content)), ...content];
}

function lengthOf(pieces: readonly Piece[]): number {
  return pieces.reduce(
    (sum, piece) => sum + (Buffer.isBuffer(piece) ? piece.length : piece.to - piece.from),
    0,
  );
}

/** Writes a new file; `source` is the old one, open. Synchronous: for the command line. */
export function writePieces(source: number, path: string, pieces: readonly Piece[]): void {
  const target = openSync(path, "wx");
  try {
    let position = 0;
    for (const piece of pieces) {
      if (Buffer.isBuffer(piece)) position += writeSync(target, piece, 0, piece.length, position);
      else position = copyRange(source, target, { ...piece, offset: position });
    }
  } finally {
    closeSync(target);
  }
}

/** Copies source[from, to) to `offset`; returns the offset behind it. */
export function copyRange(
  source: number,
  target: number,
  { from, to, offset }: FileRange & { readonly offset: number },
): number {
  const window = Buffer.alloc(Math.min(COPY_BYTES, to - from));
  let position = offset;
  for (let at = from; at < to;) {
    const count = readSync(source, window, 0, Math.min(window.length, to - at), at);
    if (count === 0) throw new Error(`it ends at byte ${at}`);
    writeSync(target, window, 0, count, position);
    at += count;
    position += count;
  }
  return position;
}
