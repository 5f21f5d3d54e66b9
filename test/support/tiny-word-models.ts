import type { ModelFiles } from "./model-folders.js";
import { Graph } from "./onnx.js";
import { staticJson } from "./tiny-tokenizers.js";

const STATIC_WORDS = ["▁the", "▁cat", "▁sat", "s", "▁moon", "▁!"];

/** Vectors of the static embedder's rows, and of each token its row and weight. */
const TABLE = [
  [1, 0, 0],
  [0, 2, 0],
  [0, 0, 4],
  [1, 1, 1],
];
const ROWS: Readonly<Record<string, number>> = { "▁the": 0, "▁cat": 1, "▁sat": 2, s: 3 };
const WEIGHTS: Readonly<Record<string, number>> = { "▁the": 0.25, "▁cat": 2 };

/** The mean of the weighted vectors of tokens, before it is normalised. */
export function staticVector(tokens: readonly string[]): number[] {
  const vectors = tokens.map((token) =>
    (TABLE[ROWS[token] ?? 3] ?? []).map((value) => value * (WEIGHTS[token] ?? 1)),
  );
  const sumOf = (lane: number) => vectors.reduce((sum, vector) => sum + (vector[lane] ?? 0), 0);
  return [0, 1, 2].map((lane) => sumOf(lane) / tokens.length);
}

/** The folder of a Model2Vec embedder; with `isQuantised` its tokens share rows that have weights. */
export function staticFiles({ isQuantised }: { readonly isQuantised: boolean }): ModelFiles {
  const tokens = ["[PAD]", "[UNK]", ...STATIC_WORDS];
  const rows = tokens.map((token) => ROWS[token] ?? 3);
  const weights = tokens.map((token) => WEIGHTS[token] ?? 1);
  const whole = rows.map((row, id) => TABLE[row]?.map((value) => value * (weights[id] ?? 1)) ?? []);
  const module = (type: string, path: string) => ({
    path,
    type: `sentence_transformers.models.${type}`,
  });
  return {
    "config.json": { model_type: "model2vec", architectures: ["StaticModel"], normalize: true },
    "modules.json": [module("StaticEmbedding", "."), module("Normalize", "1_Normalize")],
    "tokenizer.json": staticJson(STATIC_WORDS),
    "model.safetensors": isQuantised
      ? safetensors({
          weights: { dtype: "F64", shape: [tokens.length], data: Float64Array.from(weights) },
          embeddings: floats(TABLE),
          mapping: { dtype: "I32", shape: [tokens.length], data: Int32Array.from(rows) },
        })
      : safetensors({ embeddings: floats(whole) }),
  };
}

interface Stored {
  readonly dtype: string;
  readonly shape: readonly number[];
  readonly data: Float32Array | Float64Array | Int32Array;
}

function floats(rows: readonly (readonly number[])[]): Stored {
  const data = Float32Array.from(rows.flat());
  return { dtype: "F32", shape: [rows.length, data.length / rows.length], data };
}

/** A safetensors file: the length of its header, the header, then all tensors. */
function safetensors(tensors: Readonly<Record<string, Stored>>): Uint8Array {
  let end = 0;
  const entries = Object.entries(tensors).map(([name, { dtype, shape, data }]) => {
    return [name, { dtype, shape, data_offsets: [end, (end += data.byteLength)] }];
  });
  const header = Buffer.from(JSON.stringify(Object.fromEntries(entries)));
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(header.byteLength));
  const data = Object.values(tensors).map((tensor) => Buffer.from(tensor.data.buffer));
  return Buffer.concat([length, header, ...data]);
}

/** The folder of profanity-check: `sigmoid(4 × bad words − 2)`. */
export function profanityFiles(badWords: readonly string[]): ModelFiles {
  const words = ["hello", "there", ...badWords];
  const graph = new Graph();
  const counts = graph.input("counts", "float32", ["batch_size", words.length]);
  const weights = graph.floats([words.length, 1], (index) => (index < 2 ? 0 : 4));
  const logits = graph.node("Sub", [
    graph.node("MatMul", [counts, weights]),
    graph.floats([], [2]),
  ]);
  graph.output("toxic_probability", "float32", ["batch_size", 1], graph.node("Sigmoid", [logits]));
  const vocabulary = Object.fromEntries(words.map((word, column) => [word, column]));
  return {
    "model.onnx": graph,
    "vocab.json": { token_pattern: String.raw`(?u)\b\w\w+\b`, lowercase: true, vocabulary },
  };
}
