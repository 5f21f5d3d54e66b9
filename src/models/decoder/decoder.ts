import type { Graphs } from "../../runtime/ort/graphs.js";
import type { Feed, Values } from "../../runtime/ort/session.js";
import { Value } from "../../runtime/ort/value.js";
import {
  bool,
  castTensor,
  DATA,
  elementCount,
  int64Of,
  type Tensor,
  type TensorType,
} from "../../runtime/tensors/tensor.js";
import type { CacheTensor, DecoderLayout, RankedTensor } from "./decoder-layout.js";
import {
  type BoundStep,
  capacityFor,
  closeCache,
  grownLayer,
  growthOf,
  type KvCache,
  withRoom,
} from "./kv-cache.js";
import type { Alignment } from "./request/request.js";

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
  /**
   * Logits [rows, vocabSize] of each row's last token, until the next step; may be written to. Empty where
   * unwanted.
   */
  readonly logits: Float32Array;
  readonly vocabSize: number;
}

/** Role of the graph in the package and in measurements. */
export const DECODER = "decoder";
/** Role of the graph that embeds tokens, of models that embed pictures and sound as well. */
export const EMBEDDER = "embed-tokens";

/** A decoder-only graph that reads tokens into caches and says what may follow. */
export interface Decoder {
  readonly layout: DecoderLayout;
  forward(input: DecoderInput): Promise<DecoderOutput>;
}

export interface DecoderSetup {
  readonly graphs: Graphs;
  readonly layout: DecoderLayout;
  readonly firstPosition: number;
}

export function createDecoder({ graphs, layout, firstPosition }: DecoderSetup): Decoder {
  const feeder = createFeeder(layout, firstPosition);
  const logitsFor = createLogitsStore(layout);
  const { caches } = layout;
  const isShared =
    layout.vocabSize !== undefined &&
    caches.length > 0 &&
    caches.every((cache) => cache.sharesBuffer);

  const feedsOf = async (input: DecoderInput): Promise<Feeds> => {
    const { inputIds, embedded } = layout;
    const feeds = feeder(input);
    const { [inputIds.name]: ids, ...others } = feeds;
    if (ids === undefined || embedded === undefined) return feeds;
    const made = await graphs.run(EMBEDDER, { [inputIds.name]: ids }, { fetch: embedded });
    return { ...others, ...made };
  };

  const runOnce = async (input: DecoderInput): Promise<DecoderOutput> => {
    const { cache, width, wantsLogits, isTrial: isQuiet = false } = input;
    const feeds = await feedsOf(input);
    const fetch = wantsLogits ? [layout.logits.name] : [];
    const into = graphs.isOnHost ? growths(caches, cache, width) : {};
    const keep = graphs.isOnHost ? [] : caches.map(({ present }) => present);
    const step = graphs.step(DECODER, feeds, { fetch, into, keep, isQuiet });
    const closeMade = () => {
      const pasts = new Set(cache.layers.map(({ past }) => past));
      for (const value of Object.values(into)) if (!pasts.has(value)) value.close();
    };
    step.catch(closeMade);
    const { tensors, values } = await step;
    return outputOf(grown(caches, input, { ...into, ...values }), tensors[layout.logits.name]);
  };

  /** From one token to the next only what changes its shape is bound anew. */
  const repeat = async (input: DecoderInput): Promise<DecoderOutput> => {
    const { cache, isTrial: isQuiet = false } = input;
    const feeds = await feedsOf(input);
    const step = cache.step ?? bindStep(graphs, layout, { feeds, cache, logitsFor });
    for (const [name, feed] of Object.entries(feeds)) step.run.feed(name, feed);
    await step.run.run({ isQuiet });
    const lengths = cache.lengths.map((length) => length + 1);
    return outputOf({ ...cache, lengths, span: cache.span + 1, step }, step.logits.read());
  };

  return {
    layout,
    async forward(input) {
      const cache = withRoom(caches, input.cache, input.width);
      const isRepeated = isShared && input.width === 1 && input.wantsLogits;
      try {
        const output = await (isRepeated ? repeat : runOnce)({ ...input, cache });
        if (cache !== input.cache) closeCache(input.cache, cache);
        return output;
      } catch (thrown) {
        if (cache !== input.cache) closeCache(cache, input.cache);
        throw thrown;
      }
    },
  };
}

interface StepParts {
  readonly feeds: Feeds;
  readonly cache: KvCache;
  readonly logitsFor: (rows: number) => Tensor;
}

function bindStep(
  graphs: Graphs,
  { logits, caches }: DecoderLayout,
  { feeds, cache, logitsFor }: StepParts,
): BoundStep {
  const target = Value.of(logitsFor(cache.lengths.length));
  try {
    const into = { ...growths(caches, cache, 1), [logits.name]: target };
    return { run: graphs.bind(DECODER, feeds, { into }), logits: target };
  } catch (thrown) {
    target.close();
    throw thrown;
  }
}

/** One memory for the logits of all steps, of which the last alone is read. */
function createLogitsStore({ logits: { type, rank }, vocabSize = 0 }: DecoderLayout) {
  let data = new DATA[type](0);
  return (rows: number): Tensor => {
    const count = rows * vocabSize;
    if (data.length < count) data = new DATA[type](capacityFor(rows) * vocabSize);
    const dims = rank === 3 ? [rows, 1, vocabSize] : [rows, vocabSize];
    return { type, data: data.subarray(0, count), dims };
  };
}

function growths(caches: readonly CacheTensor[], { layers, span }: KvCache, width: number): Values {
  const entries = caches.flatMap((tensor, index) => {
    const layer = layers[index];
    return layer ? [[tensor.present, growthOf(tensor, layer, span + width)] as const] : [];
  });
  return Object.fromEntries(entries);
}

function grown(
  caches: readonly CacheTensor[],
  { cache, width }: DecoderInput,
  made: Values,
): KvCache {
  const layers = caches.map(({ present }, index) => {
    const [layer, value] = [cache.layers[index], made[present]];
    if (layer === undefined || value === undefined)
      throw new Error(`the graph has no output ${present}`);
    return grownLayer(layer, value);
  });
  const lengths = cache.lengths.map((length) => length + width);
  return { lengths, span: cache.span + width, layers, step: cache.step };
}

function outputOf(cache: KvCache, logits: Tensor | undefined): DecoderOutput {
  if (logits === undefined) return { cache, logits: new Float32Array(0), vocabSize: 0 };
  return { cache, ...lastLogits(castTensor(logits, "float32")) };
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
  const oneLogit = int64Of([1], logitsToKeep?.rank === 0 ? [] : [1]);
  return (input: DecoderInput): Feeds => {
    const feeds: Feeds = {};
    for (const fill of fills) fill(feeds, input);
    if (logitsToKeep) feeds[logitsToKeep.name] = oneLogit;
    if (useCacheBranch !== undefined) feeds[useCacheBranch] = bool([input.cache.span > 0], [1]);
    for (const [index, { past }] of caches.entries()) {
      const layer = input.cache.layers[index];
      if (layer) feeds[past] = layer.past;
    }
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

function indexFill(input: RankedTensor | undefined, fill: Fill) {
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
