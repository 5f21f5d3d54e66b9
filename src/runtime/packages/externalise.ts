import { closeSync, openSync } from "node:fs";
import { rm, stat } from "node:fs/promises";
import { basename, join } from "node:path";
import { readOnnxOutline } from "../onnx/onnx-outline.js";
import { type Cursor, readField, readMessage, withProtobufFile } from "../onnx/protobuf-file.js";
import { bytesPieces, copyRange, type Piece, writePieces } from "../onnx/protobuf-pieces.js";
import { bytesField, numberField } from "../onnx/protobuf-write.js";
import { hashFile } from "./checked-files.js";
import { type ModelManifest, type ModelPackage, updateManifest } from "./model-package.js";

/** Smaller tensors stay in the graph: ONNX Runtime reads shapes and scalars while it optimises. */
const MIN_TENSOR_BYTES = 1_024;
/** Of a page: what is mapped begins at one. */
const ALIGNMENT = 4_096;

interface MovedTensor {
  readonly from: number;
  readonly to: number;
  /** Place in the file of weights. */
  readonly offset: number;
}

interface Externalised {
  readonly tensors: number;
  /** Length of the file of weights, padding included. */
  readonly byteLength: number;
}

/**
 * Writes a graph whose weights lie in a file beside it (onnx.proto3, TensorProto.external_data), where
 * ONNX Runtime maps them instead of copying them. Everything else is copied byte for byte. Synchronous:
 * for the command line. Throws where the file is not ONNX.
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
    if (raw === undefined || raw.to - raw.from < MIN_TENSOR_BYTES) return undefined;
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
    const { number, isBytes, to } = readField(cursor, end);
    const content = isBytes && number === field ? rewrite(to) : undefined;
    if (content !== undefined) {
      pieces.push({ from: kept, to: fieldStart }, ...bytesPieces(field, content));
      kept = to;
    }
    cursor.seek(to);
  }
  pieces.push({ from: kept, to: end });
  return pieces;
}

/** Where a tensor's bytes lie; undefined where it has none, or they lie elsewhere already. */
function findRawData(cursor: Cursor, end: number) {
  const tensorStart = cursor.position;
  let raw: { fieldStart: number; from: number; to: number } | undefined;
  let isExternal = false;
  while (cursor.position < end) {
    const fieldStart = cursor.position;
    const { number, isBytes, to } = readField(cursor, end);
    if (isBytes && number === TENSOR_RAW_DATA) raw = { fieldStart, from: cursor.position, to };
    cursor.seek(to);
  }
  cursor.seek(tensorStart);
  readMessage(cursor, end, { [TENSOR_EXTERNAL_DATA]: () => (isExternal = true) });
  return raw === undefined || isExternal ? undefined : { tensorStart, ...raw };
}

function writeWeights(source: number, path: string, moved: readonly MovedTensor[]): void {
  const target = openSync(path, "wx");
  try {
    for (const tensor of moved) copyRange(source, target, tensor);
  } finally {
    closeSync(target);
  }
}

/** Weights of smaller graphs are read as quickly as mapped. */
const MIN_GRAPH_BYTES = 8 * 2 ** 20;

type Files = ModelManifest["files"];

/**
 * Puts the weights of a package's large graphs into files beside them, which are mapped instead of read;
 * returns the roles of those graphs. model.json changes once the new files are whole, the old graphs go
 * last. The package's files must have been verified.
 */
export async function externalisePackage(model: ModelPackage): Promise<readonly string[]> {
  const files = { ...model.files };
  const [roles, old]: [string[], string[]] = [[], []];
  for (const [role, { path, byteLength }] of Object.entries(model.files)) {
    if (!path.endsWith(".onnx") || byteLength < MIN_GRAPH_BYTES) continue;
    if (readOnnxOutline(join(model.path, path)).externalTensors.length > 0) continue;
    Object.assign(files, await externaliseGraph(model.path, role, path));
    roles.push(role);
    old.push(path);
  }
  if (roles.length === 0) return roles;
  await updateManifest(model.path, { files });
  const used = new Set(Object.values(files).map(({ path }) => path));
  for (const path of old) if (!used.has(path)) await rm(join(model.path, path));
  return roles;
}

async function externaliseGraph(folder: string, role: string, path: string): Promise<Files> {
  const graph = path.replace(/\.onnx$/, ".external.onnx");
  const weights = `${graph}.data`;
  // What an earlier run did not finish.
  for (const left of [graph, weights]) await rm(join(folder, left), { force: true });
  externaliseWeights(join(folder, path), join(folder, graph), join(folder, weights));
  const stated = async (name: string) => {
    const full = join(folder, name);
    const { size } = await stat(full);
    return { path: name, sha256: await hashFile(full), byteLength: size };
  };
  return { [role]: await stated(graph), [`${role}-data`]: await stated(weights) };
}
