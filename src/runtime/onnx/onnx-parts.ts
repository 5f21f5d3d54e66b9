import { type Cursor, readField, readMessage } from "./protobuf-file.js";
import type { Piece } from "./protobuf-pieces.js";

/** An ONNX file in ranges of its bytes, for a graph that is composed of it. */
export interface OnnxParts {
  readonly irVersion: number;
  /** Of the operators without a domain. */
  readonly opset: number;
  /** The model's fields but its graph. */
  readonly model: readonly Piece[];
  /** The graph's nodes, in order, and what it says of the values between them. */
  readonly nodes: readonly Piece[];
  /** The graph's weights, and how they are quantised. */
  readonly weights: readonly Piece[];
  /** What nodes give out, weights, inputs and outputs, those of graphs inside of nodes among them. */
  readonly names: ReadonlySet<string>;
}

const GRAPH = 7;
/** GraphProto: node and value_info; initializer, quantization_annotation and sparse_initializer. */
const NODE_FIELDS = new Set([1, 13]);
const WEIGHT_FIELDS = new Set([5, 14, 15]);

/** Walks the protobuf (onnx.proto3), past all tensors' bytes. */
export function readOnnxParts(cursor: Cursor): OnnxParts {
  let [irVersion, opset] = [0, 0];
  readMessage(cursor, cursor.size, {
    1: (version) => (irVersion = version),
    8: (end) => (opset = readOpset(cursor, end) ?? opset),
  });
  cursor.seek(0);
  const [model, nodes, weights]: [Piece[], Piece[], Piece[]] = [[], [], []];
  const names = new Set<string>();
  const readGraph = (end: number) => {
    const start = cursor.position;
    readGraphNames(cursor, end, names);
    cursor.seek(start);
    eachField(cursor, end, (field, part) => {
      if (NODE_FIELDS.has(field)) nodes.push(part);
      if (WEIGHT_FIELDS.has(field)) weights.push(part);
    });
  };
  eachField(cursor, cursor.size, (number, range) => {
    if (number === GRAPH) readGraph(range.to);
    else model.push(range);
  });
  return { irVersion, opset, model, nodes, weights, names };
}

/** The version of the operators without a domain; undefined where it speaks of others. */
function readOpset(cursor: Cursor, end: number): number | undefined {
  let [domain, version] = ["", 0];
  readMessage(cursor, end, {
    1: (textEnd) => (domain = cursor.text(textEnd)),
    2: (number) => (version = number),
  });
  return domain === "" || domain === "ai.onnx" ? version : undefined;
}

type TakeField = (number: number, range: { readonly from: number; readonly to: number }) => void;

function eachField(cursor: Cursor, end: number, take: TakeField): void {
  while (cursor.position < end) {
    const from = cursor.position;
    const { number, to } = readField(cursor, end);
    take(number, { from, to });
    cursor.seek(to);
  }
}

function readGraphNames(cursor: Cursor, end: number, names: Set<string>): void {
  const text = (textEnd: number) => void names.add(cursor.text(textEnd));
  const named = (field: number) => (messageEnd: number) =>
    readMessage(cursor, messageEnd, { [field]: text });
  const graph = (graphEnd: number) => readGraphNames(cursor, graphEnd, names);
  const attribute = (attributeEnd: number) =>
    readMessage(cursor, attributeEnd, { 6: graph, 11: graph });
  const node = (nodeEnd: number) => readMessage(cursor, nodeEnd, { 2: text, 5: attribute });
  readMessage(cursor, end, { 1: node, 5: named(8), 11: named(1), 12: named(1) });
}
