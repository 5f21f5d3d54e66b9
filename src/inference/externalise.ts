import { closeSync, openSync, readSync, writeSync } from "node:fs";
import { basename } from "node:path";
import { type Cursor, readMessage, withProtobufFile } from "./protobuf-file.js";
import { bytesField, bytesHeader, numberField } from "./protobuf-write.js";

/** Smaller tensors stay in the graph: ONNX Runtime reads shapes and scalars while it optimises. */
const LEAST_BYTES = 1_024;
/** Of a page: what is mapped begins at one. */
const ALIGNMENT = 4_096;
const COPY_BYTES = 1 << 22;

/** A piece of the new file: bytes of the old one, or new ones. */
type Piece = { readonly from: number; readonly to: number } | Buffer;

interface MovedTensor {
  readonly from: number;
  readonly to: number;
  /** Place in the file of weights. */
  readonly offset: number;
}

export interface Externalised {
  readonly tensors: number;
  /** Length of the file of weights, padding included. */
  readonly byteLength: number;
}

/**
 * Writes a graph whose weights lie in a file beside it (onnx.proto3, TensorProto.external_data), where
 * ONNX Runtime maps them instead of copying them. Everything else is copied byte for byte. Synchronous:
 * for the command line. Throws a sentence where the file is not ONNX.
 */
export function externaliseWeights(
  sourcePath: string,
  graphPath: string,
  weightsPath: string,
): Externalised {
  const plan = withProtobufFile(sourcePath, (cursor) => planModel(cursor, basename(weightsPath)));
  const source = openSync(sourcePath, "r");
  try {
    writePieces(source, graphPath, plan.pieces);
    writeWeights(source, weightsPath, plan.moved);
  } finally {
    closeSync(source);
  }
  const last = plan.moved.at(-1);
  const byteLength = last === undefined ? 0 : last.offset + last.to - last.from;
  return { tensors: plan.moved.length, byteLength };
}

const MODEL_GRAPH = 7;
const GRAPH_INITIALIZER = 5;
const TENSOR_RAW_DATA = 9;
const TENSOR_EXTERNAL_DATA = 13;
const TENSOR_DATA_LOCATION = 14;
const EXTERNAL = 1;

function planModel(cursor: Cursor, location: string) {
  const moved: MovedTensor[] = [];
  let free = 0;
  const rewriteTensor = (end: number): Piece[] | undefined => {
    const raw = findRawData(cursor, end);
    if (raw === undefined || raw.to - raw.from < LEAST_BYTES) return undefined;
    const offset = Math.ceil(free / ALIGNMENT) * ALIGNMENT;
    free = offset + raw.to - raw.from;
    moved.push({ from: raw.from, to: raw.to, offset });
    const entries = { location, offset: String(offset), length: String(raw.to - raw.from) };
    const external = Object.entries(entries).map(([key, value]) =>
      bytesField(TENSOR_EXTERNAL_DATA, bytesField(1, key), bytesField(2, value)),
    );
    const place = numberField(TENSOR_DATA_LOCATION, EXTERNAL);
    return [
      { from: raw.tensorStart, to: raw.fieldStart },
      { from: raw.to, to: end },
      Buffer.concat([...external, place]),
    ];
  };
  const rewriteGraph = (end: number) =>
    rewriteFields(cursor, end, { field: GRAPH_INITIALIZER, rewrite: rewriteTensor });
  const pieces = rewriteFields(cursor, cursor.size, { field: MODEL_GRAPH, rewrite: rewriteGraph });
  return { pieces, moved };
}

interface Rewriting {
  readonly field: number;
  /** New content of the field that ends at `end`; undefined to leave it. */
  readonly rewrite: (end: number) => Piece[] | undefined;
}

/** The message from the cursor to `end`, with one of its fields written anew wherever it stands. */
function rewriteFields(cursor: Cursor, end: number, { field, rewrite }: Rewriting): Piece[] {
  const pieces: Piece[] = [];
  let kept = cursor.position;
  while (cursor.position < end) {
    const fieldStart = cursor.position;
    const fieldEnd = endOfField(cursor, end, field);
    if (fieldEnd.isWanted) {
      const content = rewrite(fieldEnd.to);
      if (content !== undefined) {
        const header = bytesHeader(field, lengthOf(content));
        pieces.push({ from: kept, to: fieldStart }, header, ...content);
        kept = fieldEnd.to;
      }
    }
    cursor.seek(fieldEnd.to);
  }
  pieces.push({ from: kept, to: end });
  return pieces;
}

/** Reads one tag; a wanted field of bytes is left at its content. */
function endOfField(cursor: Cursor, end: number, wanted: number) {
  const tag = cursor.varint();
  const wireType = tag % 8;
  if (wireType === 0) {
    cursor.varint();
    return { to: cursor.position, isWanted: false };
  }
  if (wireType === 1 || wireType === 5)
    return { to: cursor.position + (wireType === 1 ? 8 : 4), isWanted: false };
  if (wireType !== 2) throw new Error(`wire type ${wireType} at byte ${cursor.position}`);
  const length = cursor.varint();
  const to = cursor.position + length;
  if (to > end) throw new Error(`a field ends ${to - end} bytes past its message`);
  return { to, isWanted: Math.floor(tag / 8) === wanted };
}

/** Where a tensor's bytes lie; undefined where it has none, or they lie elsewhere already. */
function findRawData(cursor: Cursor, end: number) {
  const tensorStart = cursor.position;
  let raw: { fieldStart: number; from: number; to: number } | undefined;
  let isExternal = false;
  while (cursor.position < end) {
    const fieldStart = cursor.position;
    const { to, isWanted } = endOfField(cursor, end, TENSOR_RAW_DATA);
    if (isWanted) raw = { fieldStart, from: cursor.position, to };
    cursor.seek(to);
  }
  cursor.seek(tensorStart);
  readMessage(cursor, end, { [TENSOR_EXTERNAL_DATA]: () => (isExternal = true) });
  return raw === undefined || isExternal ? undefined : { tensorStart, ...raw };
}

function lengthOf(pieces: readonly Piece[]): number {
  return pieces.reduce(
    (sum, piece) => sum + (Buffer.isBuffer(piece) ? piece.length : piece.to - piece.from),
    0,
  );
}

function writePieces(source: number, path: string, pieces: readonly Piece[]): void {
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

function writeWeights(source: number, path: string, moved: readonly MovedTensor[]): void {
  const target = openSync(path, "wx");
  try {
    for (const tensor of moved) copyRange(source, target, tensor);
  } finally {
    closeSync(target);
  }
}

/** Copies source[from, to) to `offset`; returns the offset behind it. */
function copyRange(source: number, target: number, { from, to, offset }: MovedTensor): number {
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
