import { createRandom, Graph } from "./onnx.js";

const VOCABULARY = 512;
const HEAD = 16;
const POSITIONS = 512;

/**
 * A decoder of one layer around GroupQueryAttention, as ONNX Runtime GenAI builds them: no positions, the
 * mask's ones are counted, and short rows stand at the start. Weights are drawn from a fixed sequence.
 */
export function writeGroupedAttentionGraph(path: string): void {
  const graph = new Graph();
  const random = createRandom();
  const ids = graph.input("input_ids", "int64", ["rows", "tokens"]);
  const mask = graph.input("attention_mask", "int64", ["rows", "total"]);
  const past = ["key", "value"].map((part) =>
    graph.input(`past_key_values.0.${part}`, "float32", ["rows", 1, "past", HEAD]),
  );
  const lookUp = (features: number) =>
    graph.node("Gather", [graph.floats([VOCABULARY, features], random), ids]);
  const [queries, keys, values] = [lookUp(2 * HEAD), lookUp(HEAD), lookUp(HEAD)];
  const head = graph.floats([2 * HEAD, VOCABULARY], random);
  const angle = (index: number) => Math.floor(index / 8) / 100 ** ((index % 8) / 8);
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
