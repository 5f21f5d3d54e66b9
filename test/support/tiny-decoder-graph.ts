import { type Dims, Graph } from "./onnx.js";

/** Ids that a tiny decoder reads and writes. */
export interface TinyVocabulary {
  readonly json: object;
  readonly config: object;
  readonly size: number;
  /** Id of `a`; the other letters follow it. */
  readonly firstLetter: number;
  /** Id of `!`, behind which a decoder ends its answer, and of the token that ends it. */
  readonly exclamation: number;
  readonly stop: number;
  /** Ids of a prompt of ASCII; an empty one becomes the token that begins texts. */
  idsOf(text: string): number[];
}

/** How a decoder is exported; its arithmetic is always the same. */
export interface TinyDecoder {
  readonly vocabulary: TinyVocabulary;
  /** Path of the graph. */
  readonly path: string;
  /** File of its weights beside it; in the graph where absent. */
  readonly dataFile?: string;
  /** Tokens of prompt and answer together; 512 where absent. */
  readonly contextTokens?: number;
  /** Whether ONNX Runtime GenAI's builder made it: causal masks that a past does not fit to. */
  readonly isGenai?: boolean;
  /** Type of caches and logits. */
  readonly type?: "float32" | "float16";
  /** Whether positions are an input; counted from the mask otherwise, as OPT does. */
  readonly hasPositions?: boolean;
  /** Whether keys and values are one tensor, `past_0` [2, batch, heads, past, head]. */
  readonly isCombined?: boolean;
  /** Whether `use_cache_branch` chooses between branches: that with a past reads one token at a time. */
  readonly isMerged?: boolean;
  /** Whether weights have 4 bits (`MatMulNBits`). */
  readonly isQuantised?: boolean;
  /** Whether `num_logits_to_keep` says for how many last tokens logits are made. */
  readonly keepsLogits?: boolean;
  /** Ids that it writes after a prompt of so many tokens, in place of letters. */
  readonly script?: { readonly after: number; readonly ids: readonly number[] };
}

export const LAYERS = 2;
export const HEADS = 2;
export const HEAD = 16;
export const LANES = HEADS * HEAD;
export const LETTERS = 26;

const BATCH = "batch_size";
const TOKENS = "sequence_length";
const PAST = "past_sequence_length";
const TOTAL = "past_sequence_length + sequence_length";

/** ONNX's numbers of element types, for casts. */
const CODES = { float32: 1, uint8: 2, int64: 7, bool: 9, float16: 10 };

/** The graph of the arithmetic that `lettersAfter` of tiny-decoder.ts does. */
export function decoderGraph(decoder: TinyDecoder): Graph {
  const graph = new Graph();
  const { vocabulary, type = "float32", isMerged = false } = decoder;
  declareInputs(graph, decoder);
  const values = isMerged ? writeBranches(graph, decoder) : writeBody(graph, decoder, true);
  // Old exporters left the vocabulary free as well.
  const words = isMerged ? "vocab_size" : vocabulary.size;
  graph.output("logits", type, [BATCH, TOKENS, words], values["logits"]);
  for (const { present, dims } of cachesOf(decoder, TOTAL))
    graph.output(present, type, dims, values[present]);
  return graph;
}

function declareInputs(graph: Graph, decoder: TinyDecoder): void {
  const { type = "float32", hasPositions = true } = decoder;
  graph.input("input_ids", "int64", [BATCH, TOKENS]);
  graph.input("attention_mask", "int64", [BATCH, TOTAL]);
  if (hasPositions) graph.input("position_ids", "int64", [BATCH, TOKENS]);
  if (decoder.keepsLogits) graph.input("num_logits_to_keep", "int64", []);
  for (const { past, dims } of cachesOf(decoder, PAST)) graph.input(past, type, dims);
  if (decoder.isMerged) graph.input("use_cache_branch", "bool", [1]);
}

interface CacheTensor {
  readonly past: string;
  readonly present: string;
  readonly dims: Dims;
}

function cachesOf({ isCombined = false }: TinyDecoder, length: string): CacheTensor[] {
  const dims: Dims = [BATCH, HEADS, length, HEAD];
  const layers = Array.from({ length: LAYERS }, (_, layer) => layer);
  if (isCombined)
    return layers.map((layer) => ({
      past: `past_${layer}`,
      present: `present_${layer}`,
      dims: [2, ...dims],
    }));
  return layers.flatMap((layer) =>
    ["key", "value"].map((part) => ({
      past: `past_key_values.${layer}.${part}`,
      present: `present.${layer}.${part}`,
      dims,
    })),
  );
}

/** Output name → value. */
type Values = Record<string, string>;

/** As optimum merges two exports: the first step's branch does not read the past. */
function writeBranches(graph: Graph, decoder: TinyDecoder): Values {
  const names = ["logits", ...cachesOf(decoder, TOTAL).map(({ present }) => present)];
  const branch = (hasPast: boolean) => {
    const inner = new Graph(hasPast ? "with_past_" : "without_past_");
    const values = writeBody(inner, decoder, hasPast);
    for (const name of names)
      inner.output(`${inner.prefix}${name}`, decoder.type ?? "float32", [], values[name]);
    return inner;
  };
  const outputs = names.map((name) => `either_${name}`);
  const branches = { then_branch: branch(true), else_branch: branch(false) };
  graph.node("If", ["use_cache_branch"], branches, { outputs });
  return Object.fromEntries(names.map((name, index) => [name, outputs[index] ?? ""]));
}

/** Where a layer is written, and what it reads beside its states. */
interface Body {
  readonly graph: Graph;
  readonly decoder: TinyDecoder;
  readonly hasPast: boolean;
  /** Number of tokens that are read, and with those of the past, int64 scalars. */
  readonly tokens: string;
  readonly total: string;
  /** [batch, tokens], float32. */
  readonly positions: string;
  /** What each token may attend to, [batch, 1, tokens, total], bool. */
  readonly visible: string;
}

function writeBody(graph: Graph, decoder: TinyDecoder, hasPast: boolean): Values {
  const lengthOf = (name: string) =>
    graph.node("Gather", [graph.node("Shape", [name]), graph.integers(1)]);
  const [tokens, total] = [lengthOf("input_ids"), lengthOf("attention_mask")];
  const positions = positionsOf(graph, decoder, { tokens });
  const readsOne = hasPast && (decoder.isMerged ?? false);
  const visible = visibleTokens(graph, decoder, { tokens, total, readsOne });
  const body = { graph, decoder, hasPast, tokens, total, positions, visible };
  const ids = cast(graph, "input_ids", "float32");
  const first = attend(body, ids, 0);
  const states = modulo(graph, first.sums, LETTERS);
  const second = attend(body, states, 1);
  const letters = modulo(graph, graph.node("Add", [second.sums, ids]), LETTERS);
  const expected = decoder.script
    ? scriptedIds(graph, decoder, positions)
    : graph.node("Add", [letters, graph.floats([], [decoder.vocabulary.firstLetter])]);
  return { ...first.presents, ...second.presents, logits: logitsOf(body, expected) };
}

/** The id that follows each position. */
function scriptedIds(
  graph: Graph,
  { script, contextTokens = 0, vocabulary: { stop } }: TinyDecoder,
  positions: string,
): string {
  const { after = 1, ids = [] } = script ?? {};
  const table = graph.floats([contextTokens], (position) => ids[position + 1 - after] ?? stop);
  return graph.node("Gather", [table, cast(graph, positions, "int64")]);
}

function cast(graph: Graph, value: string, type: keyof typeof CODES): string {
  return graph.node("Cast", [value], { to: CODES[type] });
}

function modulo(graph: Graph, value: string, divisor: number): string {
  return graph.node("Mod", [value, graph.floats([], [divisor])], { fmod: 1 });
}

function positionsOf(graph: Graph, decoder: TinyDecoder, { tokens }: Pick<Body, "tokens">): string {
  if (decoder.hasPositions ?? true) return cast(graph, "position_ids", "float32");
  const one = graph.integers([1]);
  const counts = graph.node("CumSum", ["attention_mask", graph.integers(1)]);
  const from = graph.node("Neg", [graph.node("Unsqueeze", [tokens, graph.integers([0])])]);
  const end = graph.integers([2 ** 31]);
  const own = graph.node("Slice", [graph.node("Sub", [counts, one]), from, end, one]);
  return cast(graph, own, "float32");
}

/** Tokens that stand at or before each, where the mask has a 1. */
function visibleTokens(
  graph: Graph,
  decoder: TinyDecoder,
  { tokens, total, readsOne }: Pick<Body, "tokens" | "total"> & { readonly readsOne: boolean },
): string {
  const range = (from: string, to: string) => graph.node("Range", [from, to, graph.integers(1)]);
  const unsqueeze = (value: string, ...axes: number[]) =>
    graph.node("Unsqueeze", [value, graph.integers(axes)]);
  const zero = graph.integers(0);
  const isSquare = decoder.isGenai ?? false;
  const columns = range(zero, isSquare ? tokens : total);
  const several = isSquare ? columns : range(graph.node("Sub", [total, tokens]), total);
  // A graph for one token needs no order of tokens: all see all.
  const rows = readsOne ? graph.node("Add", [several, tokens]) : several;
  const causal = graph.node("LessOrEqual", [columns, unsqueeze(rows, 1)]);
  const sides = [unsqueeze(tokens, 0), unsqueeze(total, 0)];
  const shape = graph.node("Concat", sides, { axis: 0 });
  // The builder's own: a square that is stretched, which several tokens behind a past do not bear.
  const stretched = isSquare ? graph.node("Expand", [causal, shape]) : causal;
  const mask = unsqueeze(cast(graph, "attention_mask", "bool"), 1, 2);
  return graph.node("And", [stretched, mask]);
}

interface Attended {
  /** [batch, tokens], float32. */
  readonly sums: string;
  readonly presents: Values;
}

/** Keys are `position % 2` and values `state % 8`, alike in all lanes; 1 more of each is multiplied. */
function attend(body: Body, states: string, layer: number): Attended {
  const { graph, visible, positions } = body;
  const own = { key: modulo(graph, positions, 2), value: modulo(graph, states, 8) };
  const { keys, values, presents } = remember(body, own, layer);
  const plusOne = (value: string) =>
    graph.node("Add", [cast(graph, value, "float32"), graph.floats([], [1])]);
  const query = graph.floats([1, HEADS, 1, HEAD], () => 1 / HEAD);
  const columns = graph.node("Transpose", [plusOne(keys)], { perm: [0, 1, 3, 2] });
  const scores = graph.node("MatMul", [query, columns]);
  const weights = graph.node("Where", [visible, scores, graph.floats([], [0])]);
  const heads = graph.node("MatMul", [weights, plusOne(values)]);
  return { sums: project(body, heads), presents };
}

/** Keys and values of the past with those of the tokens behind them, [batch, heads, total, head]. */
function remember(
  { graph, decoder, hasPast }: Body,
  own: { readonly key: string; readonly value: string },
  layer: number,
) {
  const wide = (value: string) => {
    const column = graph.node("Unsqueeze", [value, graph.integers([1, 3])]);
    const shape = graph.integers([1, HEADS, 1, HEAD]);
    return cast(graph, graph.node("Expand", [column, shape]), decoder.type ?? "float32");
  };
  const join = (past: string, tensor: string) =>
    hasPast ? graph.node("Concat", [past, tensor], { axis: -2 }) : tensor;
  if (decoder.isCombined) {
    const stacked = [own.key, own.value].map((value) =>
      graph.node("Unsqueeze", [wide(value), graph.integers([0])]),
    );
    const both = join(`past_${layer}`, graph.node("Concat", stacked, { axis: 0 }));
    const [keys, values] = [0, 1].map((at) => graph.node("Gather", [both, graph.integers(at)]));
    return { keys: keys ?? "", values: values ?? "", presents: { [`present_${layer}`]: both } };
  }
  const past = `past_key_values.${layer}`;
  const [keys, values] = [
    join(`${past}.key`, wide(own.key)),
    join(`${past}.value`, wide(own.value)),
  ];
  const present = `present.${layer}`;
  return { keys, values, presents: { [`${present}.key`]: keys, [`${present}.value`]: values } };
}

/** The mean of all lanes of all heads, [batch, tokens]: a matrix of one column. */
function project({ graph, decoder }: Body, heads: string): string {
  const rows = graph.node("Transpose", [heads], { perm: [0, 2, 1, 3] });
  const lanes = graph.node("Reshape", [rows, graph.integers([0, 0, LANES])]);
  const means = decoder.isQuantised
    ? quantisedMean(graph, lanes)
    : graph.node("MatMul", [lanes, graph.floats([LANES, 1], () => 1 / LANES)]);
  return graph.node("Squeeze", [graph.node("Round", [means]), graph.integers([2])]);
}

/** Two weights of 4 bits a byte, of which 8 is zero: each is 9 − 8 steps of 1/32. */
function quantisedMean(graph: Graph, lanes: string): string {
  const bytes = new Uint8Array(Int32Array.from({ length: LANES / 2 }, () => 0x99).buffer);
  const packed = graph.tensor(`${lanes}_packed`, "int32", [1, 1, LANES / 2], bytes);
  const inputs = [lanes, cast(graph, packed, "uint8"), graph.floats([1], [1 / LANES])];
  const sizes = { K: LANES, N: 1, bits: 4, block_size: LANES };
  return graph.node("MatMulNBits", inputs, sizes, { domain: "com.microsoft" });
}

/** `−|id − expected id|`; behind `!` the token that ends an answer has 1000 more. */
function logitsOf({ graph, decoder }: Body, expected: string): string {
  const { vocabulary, keepsLogits = false, type = "float32" } = decoder;
  const { size, exclamation, stop } = vocabulary;
  const said = graph.node("Equal", ["input_ids", graph.integers(exclamation)]);
  const column = (value: string) => {
    const kept = keepsLogits ? lastOf(graph, value) : value;
    return graph.node("Unsqueeze", [kept, graph.integers([2])]);
  };
  const all = graph.floats([size], (id) => id);
  const distances = graph.node("Abs", [graph.node("Sub", [all, column(expected)])]);
  const ends = graph.floats([size], (id) => (id === stop ? 1_000 : 0));
  const ending = graph.node("Mul", [column(cast(graph, said, "float32")), ends]);
  return cast(graph, graph.node("Sub", [ending, distances]), type);
}

function lastOf(graph: Graph, value: string): string {
  const from = graph.node("Neg", ["num_logits_to_keep"]);
  const start = graph.node("Unsqueeze", [from, graph.integers([0])]);
  return graph.node("Slice", [value, start, graph.integers([2 ** 31]), graph.integers([1])]);
}
