import { readFileSync } from "node:fs";
import { type Cursor, readMessage, withProtobufFile } from "./protobuf-file.js";
import { bytesField, numberField } from "./protobuf-write.js";

interface Node {
  readonly opType: string;
  readonly inputs: readonly Text[];
  readonly outputs: readonly string[];
}

interface Text {
  readonly value: string;
  /** Where it begins in the file. */
  readonly at: number;
}

/** Products of all positions' states with the vocabulary's matrix. */
const PRODUCTS = new Set(["MatMul", "MatMulNBits"]);

/**
 * The graph in a file, changed so that `output` [rows, positions, width] is computed of the last position
 * only: [rows, 1, width]. Undefined where the output is not a product of two matrices, cast perhaps, or the
 * file too large to be held in memory beside what is made of it.
 */
export function keepLastPosition(path: string, output: string): Buffer | undefined {
  const state = withProtobufFile(path, (cursor) =>
    cursor.size > MOST_BYTES ? undefined : findFactor(readNodes(cursor), output),
  );
  if (state === undefined) return undefined;
  const graph = readFileSync(path);
  const name = Buffer.from(state.value);
  // A name of the same length, so that no length around it changes; no exporter writes such ones.
  const last = Buffer.alloc(name.length, "@");
  last.copy(graph, state.at);
  return Buffer.concat([graph, graphField(gather(name, last), lastIndex())]);
}

const MOST_BYTES = 256 * 2 ** 20;
const INDEX = "@index";

function readNodes(cursor: Cursor): Node[] {
  const nodes: Node[] = [];
  const text = (end: number): Text => {
    const at = cursor.position;
    return { value: cursor.text(end), at };
  };
  const node = (end: number) => {
    const inputs: Text[] = [];
    const outputs: string[] = [];
    let opType = "";
    readMessage(cursor, end, {
      1: (to) => inputs.push(text(to)),
      2: (to) => outputs.push(cursor.text(to)),
      4: (to) => (opType = cursor.text(to)),
    });
    nodes.push({ opType, inputs, outputs });
  };
  readMessage(cursor, cursor.size, { 7: (end) => readMessage(cursor, end, { 1: node }) });
  return nodes;
}

/** The first factor of the product that an output is. */
function findFactor(nodes: readonly Node[], output: string): Text | undefined {
  const node = nodes.find(({ outputs }) => outputs.includes(output));
  const [first] = node?.inputs ?? [];
  if (node === undefined || first === undefined) return undefined;
  if (node.opType === "Cast" || node.opType === "Identity") return findFactor(nodes, first.value);
  return PRODUCTS.has(node.opType) ? first : undefined;
}

/** A second graph field: protobuf adds its nodes and weights to those of the first. */
function graphField(node: Buffer, weight: Buffer): Buffer {
  return bytesField(7, bytesField(1, node), bytesField(5, weight));
}

function gather(states: Buffer, last: Buffer): Buffer {
  const INT = 2;
  const axis = [bytesField(1, "axis"), numberField(3, 1), numberField(20, INT)];
  return Buffer.concat([
    bytesField(1, states),
    bytesField(1, INDEX),
    bytesField(2, last),
    bytesField(4, "Gather"),
    bytesField(5, ...axis),
  ]);
}

/** int64 [1]: −1. */
function lastIndex(): Buffer {
  const INT64 = 7;
  const minusOne = Buffer.alloc(8, 0xff);
  return Buffer.concat([
    numberField(1, 1),
    numberField(2, INT64),
    bytesField(8, INDEX),
    bytesField(9, minusOne),
  ]);
}
