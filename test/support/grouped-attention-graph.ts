import { createRandom, Graph } from "./onnx.js";

const VOCABULARY = 512;
const HEAD = 16;
const POSITIONS = 512;

/** Rows of queries [512, 32], keys and values [512, 16], and the matrix of the logits [32, 512]. */
const WEIGHTS = drawWeights();

function drawWeights() {
  const random = createRandom();
  const draw = (rows: number, columns: number) =>
    Float32Array.from({ length: rows * columns }, random);
  const queries = draw(VOCABULARY, 2 * HEAD);
  const [keys, values] = [draw(VOCABULARY, HEAD), draw(VOCABULARY, HEAD)];
  return { queries, keys, values, head: draw(2 * HEAD, VOCABULARY) };
}

/** By how much a pair of features is turned at a position, in radians. */
function angleOf(position: number, pair: number): number {
  return position / 100 ** (pair / 8);
}

/**
 * A decoder of one layer around GroupQueryAttention, as ONNX Runtime GenAI builds them: no positions, the
 * mask's ones are counted, and short rows stand at the start. Weights are drawn from a fixed sequence.
 */
export function writeGroupedAttentionGraph(path: string): void {
  const graph = new Graph();
  const ids = graph.input("input_ids", "int64", ["rows", "tokens"]);
  const mask = graph.input("attention_mask", "int64", ["rows", "total"]);
  const past = ["key", "value"].map((part) =>
    graph.input(`past_key_values.0.${part}`, "float32", ["rows", 1, "past", HEAD]),
  );
  const lookUp = (rows: Float32Array) =>
    graph.node("Gather", [graph.floats([VOCABULARY, rows.length / VOCABULARY], rows), ids]);
  const queries = lookUp(WEIGHTS.queries);
  const [keys, values] = [lookUp(WEIGHTS.keys), lookUp(WEIGHTS.values)];
  const head = graph.floats([2 * HEAD, VOCABULARY], WEIGHTS.head);
  const angle = (index: number) => angleOf(Math.floor(index / 8), index % 8);
  const cosines = graph.floats([POSITIONS, 8], (index) => Math.cos(angle(index)));
  const sines = graph.floats([POSITIONS, 8], (index) => Math.sin(angle(index)));
  const one = graph.integers([1]);
  const asInt32 = (value: string) => graph.node("Cast", [value], { to: 6 });
  const ones = graph.node("ReduceSum", [mask, one], { keepdims: 0 });
  const lasts = asInt32(graph.node("Sub", [ones, one]));
  const shape = graph.node("Shape", [mask]);
  const total = asInt32(graph.node("Gather", [shape, graph.integers(1)]));
  const attended = graph.node(
    "GroupQueryAttention",
    [queries, keys, values, ...past, lasts, total, cosines, sines],
    { num_heads: 2, kv_num_heads: 1, do_rotary: 1 },
    { domain: "com.microsoft", outputs: ["attended", "present.0.key", "present.0.value"] },
  );
  const states = graph.node("Add", [attended, queries]);
  const logits = graph.node("MatMul", [states, head]);
  graph.output("logits", "float32", ["rows", "tokens", VOCABULARY], logits);
  for (const part of ["key", "value"])
    graph.output(`present.0.${part}`, "float32", ["rows", 1, "total", HEAD]);
  graph.write(path);
}

/** The logits [512] behind ids, from the paper's formulas: two heads attend to keys that they share. */
export function groupedAttentionLogits(ids: readonly number[]): number[] {
  const { queries, keys, values, head } = WEIGHTS;
  const at = ids.length - 1;
  const turned = ids.map((id, position) => turn(rowOf(keys, id, HEAD), position));
  const contents = ids.map((id) => rowOf(values, id, HEAD));
  const states = [0, 1].flatMap((which) => {
    const query = rowOf(queries, 2 * (ids[at] ?? 0) + which, HEAD);
    const scores = turned.map((key) => dot(turn(query, at), key) / Math.sqrt(HEAD));
    const shares = softmax(scores);
    const lane = (index: number) =>
      dot(
        shares,
        contents.map((row) => row[index] ?? 0),
      );
    return query.map((value, index) => value + lane(index));
  });
  return Array.from({ length: VOCABULARY }, (_, word) =>
    dot(
      states,
      states.map((_state, lane) => head[lane * VOCABULARY + word] ?? 0),
    ),
  );
}

function rowOf(rows: Float32Array, row: number, width: number): number[] {
  return [...rows.subarray(row * width, (row + 1) * width)];
}

/** Feature i and feature i + 8 turn together (Su et al., 2021). */
function turn(features: readonly number[], position: number): number[] {
  return features.map((feature, index) => {
    const angle = angleOf(position, index % 8);
    const other = features[(index + 8) % HEAD] ?? 0;
    return feature * Math.cos(angle) + (index < 8 ? -other : other) * Math.sin(angle);
  });
}

function softmax(scores: readonly number[]): number[] {
  const powers = scores.map((score) => Math.exp(score));
  const total = powers.reduce((sum, power) => sum + power, 0);
  return powers.map((power) => power / total);
}

function dot(a: readonly number[], b: readonly number[]): number {
  return a.reduce((sum, value, index) => sum + value * (b[index] ?? 0), 0);
}
