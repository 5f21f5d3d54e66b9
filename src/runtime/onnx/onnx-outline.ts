import { messageOf } from "../../core/errors.js";
import { collectInto, type Cursor, readMessage, withProtobufFile } from "./protobuf-file.js";

/** What an ONNX file declares, without its weights. */
export interface OnnxOutline {
  readonly inputs: readonly OnnxValue[];
  readonly outputs: readonly OnnxValue[];
  /** Weights that lie in other files. */
  readonly externalTensors: readonly ExternalTensor[];
  /** Dimensions of what the branches of its conditions make of nothing but constants, by its name. */
  readonly branchConstants: Readonly<Record<string, readonly number[]>>;
  /** What the exporter wrote beside the graph. */
  readonly metadata: Readonly<Record<string, string>>;
}

export interface OnnxValue {
  readonly name: string;
  /** ONNX's number of the element type: 1 is float32, 7 int64, 10 float16. */
  readonly elementType: number;
  /** A number, or the name of a free dimension, or null where nothing is declared. */
  readonly dims: readonly (number | string | null)[];
}

export interface ExternalTensor {
  readonly name: string;
  /** ONNX's number, as in `OnnxValue`. */
  readonly elementType: number;
  /** As the file says it, relative to the file's folder. */
  readonly location: string;
  readonly offset: number;
  /** Absent: to the end of the file. */
  readonly byteLength?: number;
}

/**
 * Reads the outline by walking the protobuf (onnx.proto3), past all tensors' bytes. Synchronous: for
 * the command line. Throws an error that names the file.
 */
export function readOnnxOutline(path: string): OnnxOutline {
  try {
    return withProtobufFile(path, readModel);
  } catch (cause) {
    const reason = messageOf(cause);
    throw new Error(`${path} is not an ONNX file: ${reason}`, { cause });
  }
}

function readModel(cursor: Cursor): OnnxOutline {
  refuseLfsPointer(cursor);
  const values = { inputs: [] as OnnxValue[], outputs: [] as OnnxValue[] };
  const initialised = new Set<string>();
  const externalTensors: ExternalTensor[] = [];
  const branchConstants: Record<string, readonly number[]> = {};
  const metadata: Record<string, string> = {};
  let graphs = 0;

  const tensor = (end: number, isInitialiser: boolean) => {
    const { name, dims, external } = readTensor(cursor, end);
    if (isInitialiser) initialised.add(name);
    if (external !== undefined) externalTensors.push(external);
    return dims;
  };
  const sparseTensor = (end: number) =>
    readMessage(cursor, end, {
      1: (valuesEnd) => tensor(valuesEnd, true),
      2: (indicesEnd) => tensor(indicesEnd, false),
    });
  /** Dimensions of the tensor that it holds. */
  const attribute = (end: number) => {
    let dims: readonly number[] | undefined;
    readMessage(cursor, end, {
      5: (tensorEnd) => (dims = tensor(tensorEnd, false)),
      6: (graphEnd) => graph(graphEnd, false),
      10: (tensorEnd) => tensor(tensorEnd, false),
      11: (graphEnd) => graph(graphEnd, false),
      22: sparseTensor,
      23: sparseTensor,
    });
    return dims;
  };
  const node = (end: number, isMain = true) => {
    let output = "";
    let dims: readonly number[] | undefined;
    readMessage(cursor, end, {
      2: (textEnd) => (output = cursor.text(textEnd)),
      5: (attributeEnd) => (dims = attribute(attributeEnd) ?? dims),
    });
    if (!isMain && dims !== undefined) branchConstants[output] = dims;
  };
  const graph = (end: number, isMain: boolean): void =>
    readMessage(cursor, end, {
      1: (nodeEnd) => node(nodeEnd, isMain),
      5: (tensorEnd) => void tensor(tensorEnd, isMain),
      11: (valueEnd) => void (isMain && values.inputs.push(readValue(cursor, valueEnd))),
      12: (valueEnd) => void (isMain && values.outputs.push(readValue(cursor, valueEnd))),
      15: sparseTensor,
    });

  readMessage(cursor, cursor.size, {
    7: (end) => {
      graphs += 1;
      graph(end, true);
    },
    14: (end) => {
      const [key, value] = readEntry(cursor, end);
      metadata[key] = value;
    },
    25: (end) => readMessage(cursor, end, { 7: (nodeEnd) => node(nodeEnd) }),
  });
  if (graphs === 0) throw new Error("it holds no graph");
  // Before IR version 4 every initialiser was declared as an input as well.
  const inputs = values.inputs.filter(({ name }) => !initialised.has(name));
  return { inputs, outputs: values.outputs, externalTensors, branchConstants, metadata };
}

function refuseLfsPointer(cursor: Cursor): void {
  const start = cursor.text(Math.min(cursor.size, 23));
  if (start === "version https://git-lfs")
    throw new Error("it is a Git LFS pointer; run git lfs pull");
  cursor.seek(0);
}

const EXTERNAL = 1;

function readTensor(cursor: Cursor, end: number) {
  let name = "";
  let elementType = 0;
  let isExternal = false;
  const dims: number[] = [];
  const entries = new Map<string, string>();
  readMessage(cursor, end, {
    1: collectInto(dims, cursor),
    2: (type) => (elementType = type),
    8: (textEnd) => (name = cursor.text(textEnd)),
    13: (entryEnd) => void entries.set(...readEntry(cursor, entryEnd)),
    14: (location) => (isExternal = location === EXTERNAL),
  });
  if (!isExternal) return { name, dims, external: undefined };
  const length = entries.get("length");
  const external: ExternalTensor = {
    name,
    elementType,
    location: entries.get("location") ?? "",
    offset: Number(entries.get("offset") ?? 0),
    ...(length !== undefined && { byteLength: Number(length) }),
  };
  return { name, dims, external };
}

/** StringStringEntryProto. */
function readEntry(cursor: Cursor, end: number): [key: string, value: string] {
  let [key, value] = ["", ""];
  readMessage(cursor, end, {
    1: (textEnd) => (key = cursor.text(textEnd)),
    2: (textEnd) => (value = cursor.text(textEnd)),
  });
  return [key, value];
}

/** ValueInfoProto → TypeProto → TypeProto.Tensor → TensorShapeProto. */
function readValue(cursor: Cursor, end: number): OnnxValue {
  let name = "";
  let elementType = 0;
  const dims: (number | string | null)[] = [];
  const dimension = (dimensionEnd: number) => {
    let value: number | string | null = null;
    readMessage(cursor, dimensionEnd, {
      1: (count) => (value = count),
      2: (textEnd) => (value = cursor.text(textEnd)),
    });
    dims.push(value);
  };
  const tensorType = (typeEnd: number) =>
    readMessage(cursor, typeEnd, {
      1: (type) => (elementType = type),
      2: (shapeEnd) => readMessage(cursor, shapeEnd, { 1: dimension }),
    });
  readMessage(cursor, end, {
    1: (textEnd) => (name = cursor.text(textEnd)),
    2: (typeEnd) => readMessage(cursor, typeEnd, { 1: tensorType }),
  });
  return { name, elementType, dims };
}
