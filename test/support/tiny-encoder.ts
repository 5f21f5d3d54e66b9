import type { ModelFiles } from "./model-folders.js";
import { Graph } from "./onnx.js";
import { WORD_PIECE_CONFIG, wordPieceJson } from "./tiny-tokenizers.js";

/** Words and pieces of words of the tiny encoders; their ids begin at 5, behind BERT's own tokens. */
const WORDS: readonly string[] =
  "a the cat dog sat ran on mat moon ##s ##ning what is capital of france paris , . you fool hurt".split(
    " ",
  );
const PAD_TOKENS = 5;
const VOCABULARY = PAD_TOKENS + WORDS.length;
const CLASSIFIER = 2;
const SEPARATOR = 3;

/** Ids of words that are written with spaces around every piece, `[CLS]` before and `[SEP]` behind. */
export function wordIds(pieces: string): number[] {
  const ids = pieces.split(" ").map((piece) => PAD_TOKENS + WORDS.indexOf(piece));
  return [CLASSIFIER, ...ids, SEPARATOR];
}

const BATCH = "batch_size";
const TOKENS = "sequence_length";

/** What an encoder declares beside `input_ids` and `attention_mask`. */
export interface EncoderInputs {
  readonly hasTypes?: boolean;
  readonly hasPositions?: boolean;
  /** Whether it is a decoder that serves as an encoder: it has caches. */
  readonly hasCaches?: boolean;
}

/** Values of a graph, float32 [batch, tokens] each. */
interface Read {
  readonly graph: Graph;
  readonly ids: string;
  readonly mask: string;
  readonly types: string;
  readonly positions: string;
}

function readInputs({ hasTypes = true, hasPositions, hasCaches }: EncoderInputs = {}): Read {
  const graph = new Graph();
  const input = (name: string) =>
    graph.node("Cast", [graph.input(name, "int64", [BATCH, TOKENS])], { to: 1 });
  const [ids, mask] = [input("input_ids"), input("attention_mask")];
  const types = hasTypes ? input("token_type_ids") : graph.floats([], [0]);
  const positions = hasPositions ? input("position_ids") : countPositions(graph);
  if (hasCaches) declareCaches(graph);
  return { graph, ids, mask, types, positions };
}

/** 0, 1, 2 … as BERT's own graph counts them. */
function countPositions(graph: Graph): string {
  const length = graph.node("Gather", [graph.node("Shape", ["input_ids"]), graph.integers(1)]);
  const range = graph.node("Range", [graph.integers(0), length, graph.integers(1)]);
  return graph.node("Cast", [range], { to: 1 });
}

function declareCaches(graph: Graph): void {
  for (const part of ["key", "value"]) {
    const dims = [BATCH, 2, "past_sequence_length", 4];
    const past = graph.input(`past_key_values.0.${part}`, "float32", dims);
    graph.output(`present.0.${part}`, "float32", dims, past);
  }
}

function sum(graph: Graph, value: string, axis: number, keepdims = 0): string {
  return graph.node("ReduceSum", [value, graph.integers([axis])], { keepdims });
}

export interface TinyEmbedder extends EncoderInputs {
  readonly architecture?: string;
  /** What 1_Pooling/config.json says: a flag that is set, or all of it. */
  readonly pooling?: string | object;
  readonly normalises?: boolean;
  /** Whether the graph has pooled already, as sentence-transformers exports it. */
  readonly isPooled?: boolean;
}

/**
 * The folder of an embedder in sentence-transformers' layout. Each token's vector is its id, its position
 * from 1, the sum of `id + 1` over the text, and `1 + type`.
 */
export function embedderFiles(embedder: TinyEmbedder = {}): ModelFiles {
  const { architecture = "BertModel", pooling = "pooling_mode_mean_tokens" } = embedder;
  const module = (idx: number, name: string, path: string) => ({
    idx,
    name: String(idx),
    path,
    type: `sentence_transformers.models.${name}`,
  });
  const modules = [module(0, "Transformer", ""), module(1, "Pooling", "1_Pooling")];
  const normalise = (embedder.normalises ?? true) ? [module(2, "Normalize", "2_Normalize")] : [];
  return {
    ...encoderFiles(architecture, { hidden_size: 4 }),
    "modules.json": [...modules, ...normalise],
    "1_Pooling/config.json":
      typeof pooling === "string" ? { word_embedding_dimension: 4, [pooling]: true } : pooling,
    "sentence_bert_config.json": { max_seq_length: 256, do_lower_case: false },
    "onnx/model.onnx": embedderGraph(embedder),
  };
}

function encoderFiles(architecture: string, config: object): ModelFiles {
  const sizes = { max_position_embeddings: 512, vocab_size: VOCABULARY, pad_token_id: 0 };
  return {
    "config.json": { architectures: [architecture], model_type: "bert", ...sizes, ...config },
    "tokenizer.json": wordPieceJson(WORDS),
    "tokenizer_config.json": WORD_PIECE_CONFIG,
  };
}

function embedderGraph(embedder: TinyEmbedder): Graph {
  const { graph, ids, mask, types, positions } = readInputs(embedder);
  const one = graph.floats([], [1]);
  const plusOne = (value: string) => graph.node("Add", [value, one]);
  const kept = graph.node("Mul", [plusOne(ids), mask]);
  const alike = graph.node("Mul", [ids, graph.floats([], [0])]);
  const lanes = [ids, plusOne(positions), sum(graph, kept, 1, 1), plusOne(types)].map((lane) =>
    graph.node("Unsqueeze", [graph.node("Add", [lane, alike]), graph.integers([2])]),
  );
  const states = graph.node("Concat", lanes, { axis: 2 });
  const name = embedder.isPooled ? "token_embeddings" : "last_hidden_state";
  graph.output(name, "float32", [BATCH, TOKENS, 4], states);
  if (embedder.isPooled)
    graph.output("sentence_embedding", "float32", [BATCH, 4], meanOf(graph, states, mask));
  return graph;
}

function meanOf(graph: Graph, states: string, mask: string): string {
  const column = graph.node("Unsqueeze", [mask, graph.integers([2])]);
  const total = sum(graph, graph.node("Mul", [states, column]), 1);
  return graph.node("Div", [total, sum(graph, mask, 1, 1)]);
}

/** The vector of a text of these ids by the formula, before it is normalised. */
export function meanVector(ids: readonly number[]): number[] {
  const total = ids.reduce((all, id) => all + id, 0);
  return [total / ids.length, (ids.length + 1) / 2, total + ids.length, 1];
}

/**
 * The folder of a cross-encoder. Its logit is how many pairs of equal tokens query and document have
 * beside their separators; of two labels the first is 0.
 */
export function rerankerFiles(labels: 1 | 2 = 1): ModelFiles {
  const id2label = Object.fromEntries([...Array(labels).keys()].map((id) => [id, `LABEL_${id}`]));
  return {
    ...encoderFiles("BertForSequenceClassification", { id2label }),
    "onnx/model.onnx": rerankerGraph(labels),
  };
}

function rerankerGraph(labels: 1 | 2): Graph {
  const { graph, ids, mask, types } = readInputs();
  const unsqueeze = (value: string, axis: number) =>
    graph.node("Unsqueeze", [value, graph.integers([axis])]);
  const equal = graph.node("Equal", [unsqueeze(ids, 2), unsqueeze(ids, 1)]);
  const inQuery = graph.node("Sub", [mask, types]);
  const sides = graph.node("Mul", [unsqueeze(inQuery, 2), unsqueeze(types, 1)]);
  const pairs = graph.node("Mul", [graph.node("Cast", [equal], { to: 1 }), sides]);
  const count = unsqueeze(sum(graph, sum(graph, pairs, 2), 1), 1);
  const logit = graph.node("Sub", [count, graph.floats([], [1])]);
  const none = graph.node("Mul", [logit, graph.floats([], [0])]);
  const logits = labels === 1 ? logit : graph.node("Concat", [none, logit], { axis: 1 });
  graph.output("logits", "float32", [BATCH, labels], logits);
  return graph;
}

/** The folder of a classifier: a label's logit is 4 for each of its words in the text, less 2. */
export function classifierFiles(
  labels: Readonly<Record<string, readonly string[]>>,
  problem_type = "multi_label_classification",
): ModelFiles {
  const id2label = Object.fromEntries(Object.keys(labels).map((label, id) => [id, label]));
  const { graph, mask } = readInputs();
  const words = Object.values(labels);
  const table = graph.floats([VOCABULARY, words.length], (index) => {
    const word = WORDS[Math.floor(index / words.length) - PAD_TOKENS];
    return word !== undefined && words[index % words.length]?.includes(word) ? 4 : 0;
  });
  const column = graph.node("Unsqueeze", [mask, graph.integers([2])]);
  const found = graph.node("Mul", [graph.node("Gather", [table, "input_ids"]), column]);
  const logits = graph.node("Sub", [sum(graph, found, 1), graph.floats([], [2])]);
  graph.output("logits", "float32", [BATCH, words.length], logits);
  return {
    ...encoderFiles("BertForSequenceClassification", { id2label, problem_type }),
    "onnx/model.onnx": graph,
  };
}
