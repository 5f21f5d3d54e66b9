import { unixMs } from "../../core/time.js";
import type { Feed, Graphs } from "../../runtime/ort/graphs.js";
import {
  bool,
  elementCount,
  int64Of,
  type Tensor,
  type TensorType,
} from "../../runtime/tensors/tensor.js";
import type { DecoderLayout, IndexInput } from "./decoder-layout.js";
import { keptName, type KvCache } from "./kv-cache.js";
import type { Alignment } from "./request/request.js";
import type { GraphRun } from "../../core/modality.js";

/** Tokens to add to a cache: `width` for each of its rows, row after row. */
export interface DecoderInput {
  readonly cache: KvCache;
  readonly tokens: ArrayLike<number>;
  readonly width: number;
  readonly alignment: Alignment;
  /** False for all but the last part of a long prompt. */
  readonly wantsLogits: boolean;
  /** A run whose failure is an answer and is not logged. */
  readonly isTrial?: boolean;
}

export interface DecoderOutput {
  /** The same memory, grown by the tokens. */
  readonly cache: KvCache;
  /** Logits [rows, vocabSize] of each row's last token; may be written to. Empty where unwanted. */
  readonly logits: Float32Array;
  readonly vocabSize: number;
}

/** Role of the graph in the package and in measurements. */
export const DECODER = "decoder";

/** A decoder-only graph that reads tokens into caches and says what may follow. */
export interface Decoder {
  readonly graphs: Graphs;
  readonly layout: DecoderLayout;
  forward(input: DecoderInput): Promise<DecoderOutput>;
}

export interface DecoderSetup {
  readonly graphs: Graphs;
  readonly layout: DecoderLayout;
  readonly firstPosition: number;
  readonly onRun: (run: GraphRun) => void;
}

export function createDecoder({ graphs, layout, firstPosition, onRun }: DecoderSetup): Decoder {
  const feeder = createFeeder(layout, firstPosition);
  return {
    graphs,
    layout,
    async forward(input) {
      const feeds = feeder(input);
      const keep: Record<string, string> = {};
      for (const tensor of layout.caches) keep[tensor.present] = keptName(input.cache, tensor);
      const fetch = input.wantsLogits ? [layout.logits] : [];
      const startedAtMs = unixMs();
      const outputs = await graphs.run(DECODER, feeds, {
        keep,
        fetch,
        quiet: input.isTrial ?? false,
      });
      onRun({ role: DECODER, startedAtMs, endedAtMs: unixMs() });
      const cache = grown(input);
      const logits = outputs[layout.logits];
      if (logits === undefined) return { cache, logits: new Float32Array(0), vocabSize: 0 };
      return { cache, ...lastLogits(logits) };
    },
  };
}

function grown({ cache, width }: DecoderInput): KvCache {
  const lengths = cache.lengths.map((length) => length + width);
  return { id: cache.id, lengths, span: cache.span + width };
}

/** The last position's logits of each row; graphs give them for every position or only for that. */
function lastLogits({ data, dims }: Tensor) {
  if (!(data instanceof Float32Array)) throw new TypeError("logits must be floats");
  const vocabSize = dims.at(-1) ?? 0;
  const rows = dims[0] ?? 0;
  const positions = dims.length === 3 ? (dims[1] ?? 0) : 1;
  if (positions === 1) return { logits: data, vocabSize };
  const logits = new Float32Array(rows * vocabSize);
  for (let row = 0; row < rows; row += 1) {
    const last = ((row + 1) * positions - 1) * vocabSize;
    logits.set(data.subarray(last, last + vocabSize), row * vocabSize);
  }
  return { logits, vocabSize };
}

type Feeds = Record<string, Feed>;

/** Makes the graph's inputs; index arrays are kept and grow, so a step allocates no memory of its own. */
function createFeeder(layout: DecoderLayout, firstPosition: number) {
  const fills = [
    indexFill(layout.inputIds, fillTokens),
    indexFill(layout.attentionMask, fillMask),
    indexFill(layout.positionIds, (array, input) => fillPositions(array, input, firstPosition)),
    indexFill(layout.tokenTypes, fillZeros),
  ].filter((fill) => fill !== undefined);
  const { logitsToKeep, useCacheBranch, caches } = layout;
  return (input: DecoderInput): Feeds => {
    const feeds: Feeds = {};
    for (const fill of fills) fill(feeds, input);
    if (logitsToKeep) feeds[logitsToKeep.name] = int64Of([1], logitsToKeep.rank === 0 ? [] : [1]);
    if (useCacheBranch !== undefined) feeds[useCacheBranch] = bool([input.cache.span > 0], [1]);
    for (const tensor of caches) feeds[tensor.past] = { kept: keptName(input.cache, tensor) };
    return feeds;
  };
}

/** An integer array that hides whether the graph wants 32 or 64 bits. */
interface IndexArray {
  set(index: number, value: number): void;
  fill(value: number, from: number, to: number): void;
}

/** Writes the values; returns the dims. */
type Fill = (array: IndexArray, input: DecoderInput) => readonly number[];

/** Positions of models that also see pictures: time, row and column, equal for text (Qwen2-VL). */
const PLANES = 3;

function indexFill(input: IndexInput | undefined, fill: Fill) {
  if (input === undefined) return undefined;
  const store = createIndexStore(input.type);
  return (feeds: Feeds, step: DecoderInput) => {
    store.reserve((step.cache.span + step.width) * step.cache.lengths.length * PLANES);
    const dims = fill(store, step);
    if (input.rank === 3) store.repeat(elementCount(dims), PLANES - 1);
    feeds[input.name] = store.tensor(input.rank === 3 ? [PLANES, ...dims] : dims);
  };
}

function createIndexStore(type: TensorType) {
  const isNarrow = type === "int32";
  let wide = new BigInt64Array(0);
  let narrow = new Int32Array(0);
  return {
    reserve(size: number) {
      const capacity = isNarrow ? narrow.length : wide.length;
      if (size <= capacity) return;
      const next = Math.max(256, 2 * size);
      if (isNarrow) narrow = new Int32Array(next);
      else wide = new BigInt64Array(next);
    },
    set(index: number, value: number) {
      if (isNarrow) narrow[index] = value;
      else wide[index] = BigInt(value);
    },
    fill(value: number, from: number, to: number) {
      if (isNarrow) narrow.fill(value, from, to);
      else wide.fill(BigInt(value), from, to);
    },
    /** Copies the first values behind themselves. */
    repeat(size: number, times: number) {
      const values = isNarrow ? narrow : wide;
      for (let time = 1; time <= times; time += 1) values.copyWithin(time * size, 0, size);
    },
    /** Other types are cast by `Graphs.run`. */
    tensor(dims: readonly number[]): Tensor {
      const size = elementCount(dims);
      if (isNarrow) return { type: "int32", data: narrow.subarray(0, size), dims };
      return { type: "int64", data: wide.subarray(0, size), dims };
    },
  };
}

function fillTokens(array: IndexArray, { cache, tokens, width }: DecoderInput): number[] {
  const rows = cache.lengths.length;
  for (let index = 0; index < rows * width; index += 1) array.set(index, tokens[index] ?? 0);
  return [rows, width];
}

function fillZeros(array: IndexArray, { cache, width }: DecoderInput): number[] {
  const rows = cache.lengths.length;
  array.fill(0, 0, rows * width);
  return [rows, width];
}

/** 1 where a row has a token, on the side that the alignment says. */
function fillMask(array: IndexArray, { cache, width, alignment }: DecoderInput): number[] {
  const span = cache.span + width;
  for (const [row, length] of cache.lengths.entries()) {
    const from = row * span;
    const ones = length + width;
    const first = alignment === "start" ? from : from + span - ones;
    array.fill(0, from, from + span);
    array.fill(1, first, first + ones);
  }
  return [cache.lengths.length, span];
}

function fillPositions(
  array: IndexArray,
  { cache, width }: DecoderInput,
  firstPosition: number,
): number[] {
  let index = 0;
  for (const length of cache.lengths)
    for (let token = 0; token < width; token += 1) {
      array.set(index, firstPosition + length + token);
      index += 1;
    }
  return [cache.lengths.length, width];
}
