import type { RepeatedStep } from "../../runtime/ort/graphs.js";
import {
  DATA,
  elementCount,
  type Tensor,
  type TensorData,
  type TensorType,
} from "../../runtime/tensors/tensor.js";
import { Value } from "../../runtime/ort/value.js";
import type { CacheTensor } from "./decoder-layout.js";
import type { Alignment } from "./request/request.js";

/** The memory of a batch: one tensor a layer and part. */
export interface KvCache {
  /** Tokens of each row. */
  readonly lengths: readonly number[];
  /** Tokens of the longest row, and perhaps more. */
  readonly span: number;
  /** In the order of the layout's caches. */
  readonly layers: readonly CacheLayer[];
  /** The next token's step, bound to these layers; closed with them. */
  readonly step?: BoundStep | undefined;
}

/** One token more for every row, again and again. */
export interface BoundStep {
  readonly run: RepeatedStep;
  /** What each run writes: [rows, vocabSize], with an axis of one token between them in most graphs. */
  readonly logits: Value;
}

export interface CacheLayer {
  /** Has `span` tokens, or room for more where its buffer is shared. */
  readonly past: Value;
  /** Memory that the next step may write to; absent where it is made on the device. */
  readonly spare?: TensorData | undefined;
}

/** One row of a cache. */
export interface CacheRow {
  readonly cache: KvCache;
  readonly row: number;
}

/** A cache of one row without tokens, with room for this many where its buffers are shared. */
export function openCache(tensors: readonly CacheTensor[], room = 0): KvCache {
  return createCache(tensors, { lengths: [0], room });
}

/** A cache of rows of these lengths; `fill` writes what they remember, all zero before. */
export function createCache(
  tensors: readonly CacheTensor[],
  {
    lengths,
    room = 0,
    fill,
  }: {
    readonly lengths: readonly number[];
    /** Tokens that shared buffers have room for at least. */
    readonly room?: number;
    readonly fill?: (tensor: CacheTensor, target: Tensor, layer: number) => void;
  },
): KvCache {
  const span = Math.max(0, ...lengths);
  const layers = tensors.map((tensor, layer) => {
    const tokens = tensor.sharesBuffer ? roomFor(Math.max(span, room)) : span;
    const target = allocate(tensor, lengths.length, tokens);
    fill?.(tensor, target, layer);
    return { past: Value.of(target) };
  });
  return { lengths, span, layers };
}

/** The cache, or one in its place whose shared buffers have room for `width` more tokens. */
export function withRoom(tensors: readonly CacheTensor[], cache: KvCache, width: number): KvCache {
  const needed = cache.span + width;
  const hasRoom = tensors.every(({ sharesBuffer, lengthAxis }, layer) => {
    const room = cache.layers[layer]?.past.dims[lengthAxis ?? 0] ?? 0;
    return !sharesBuffer || room >= needed;
  });
  if (hasRoom) return cache;
  const { lengths, span } = cache;
  const rows = lengths.map((_, row) => ({ cache, row }));
  const layers = tensors.map((tensor, layer) => {
    if (!tensor.sharesBuffer) return cache.layers[layer];
    const target = allocate(tensor, lengths.length, roomFor(needed));
    copyRows(tensor, { rows, target, layer, alignment: "start" });
    return { past: Value.of(target) };
  });
  return { lengths, span, layers: layers.filter((layer) => layer !== undefined) };
}

/** Where a step writes a layer that grows to `span` tokens: into what is shared or spare, else into new memory. */
export function growthOf(tensor: CacheTensor, { past, spare }: CacheLayer, span: number): Value {
  if (tensor.sharesBuffer) return past;
  const rows = past.dims[tensor.batchAxis] ?? 1;
  const dims = dimsOf(tensor, rows, span);
  const count = elementCount(dims);
  const data =
    spare !== undefined && spare.length >= count
      ? spare
      : allocate(tensor, rows, roomFor(span)).data;
  return Value.of({ type: tensor.type, data: data.subarray(0, count), dims });
}

/** The layer after a step that was written into `grown`; its old memory is spare. */
export function grownLayer(layer: CacheLayer, grown: Value): CacheLayer {
  if (layer.past === grown) return layer;
  const { data, type } = layer.past.read();
  layer.past.close();
  return { past: grown, spare: wholeOf(type, data) };
}

/** Memory grows by an eighth, and by this many tokens at least. */
const ROOM_TOKENS = 64;

function roomFor(span: number): number {
  const room = span + Math.max(1, span >> 3);
  return Math.ceil(room / ROOM_TOKENS) * ROOM_TOKENS;
}

function wholeOf(type: TensorType, { buffer }: TensorData): TensorData {
  return type === "float16" ? new Uint16Array(buffer) : new Float32Array(buffer);
}

export function closeCache({ layers, step }: KvCache): void {
  step?.run.close();
  step?.logits.close();
  for (const { past } of layers) past.close();
}

/** Bytes that one token of one row takes. */
export function bytesPerToken(tensors: readonly CacheTensor[]): number {
  return tensors
    .filter(({ lengthAxis }) => lengthAxis !== null)
    .reduce((sum, { type, dims }) => {
      const values = dims.reduce<number>((product, dim) => product * (Number(dim) || 1), 1);
      return sum + values * (type === "float16" ? 2 : 4);
    }, 0);
}

/**
 * A new cache of these rows, no longer than the longest of them. Copies once; a row may be named more
 * than once. The caches it read stay as they are.
 */
export function mergeRows(
  tensors: readonly CacheTensor[],
  { rows, alignment }: { readonly rows: readonly CacheRow[]; readonly alignment: Alignment },
): KvCache {
  const lengths = rows.map(({ cache, row }) => cache.lengths[row] ?? 0);
  return createCache(tensors, {
    lengths,
    fill: (tensor, target, layer) => copyRows(tensor, { rows, target, layer, alignment }),
  });
}

interface RowsCopy {
  readonly rows: readonly CacheRow[];
  readonly target: Tensor;
  readonly layer: number;
  readonly alignment: Alignment;
}

function copyRows(tensor: CacheTensor, { rows, target, layer, alignment }: RowsCopy): void {
  for (const [index, { cache, row }] of rows.entries()) {
    const source = cache.layers[layer]?.past.read();
    const length = cache.lengths[row] ?? 0;
    if (source) copyRow({ tensor, source, row, target, index, alignment, length });
  }
}

interface RowCopy {
  readonly tensor: CacheTensor;
  readonly source: Tensor;
  readonly row: number;
  readonly target: Tensor;
  readonly index: number;
  readonly alignment: Alignment;
  /** Tokens of the row. */
  readonly length: number;
}

/** Runs of memory that a row keeps together: outer axes × [row] × middle axes × tokens × inner axes. */
function copyRow({ tensor, source, row, target, index, alignment, length }: RowCopy): void {
  const from = rowRuns(source, { tensor, row, alignment, length });
  const to = rowRuns(target, { tensor, row: index, alignment, length });
  const read = bytesOf(source);
  const write = bytesOf(target);
  for (let run = 0; run < to.count; run += 1) {
    const start = from.start(run);
    write.set(read.subarray(start, start + to.byteLength), to.start(run));
  }
}

interface RowPlace {
  readonly tensor: CacheTensor;
  readonly row: number;
  readonly alignment: Alignment;
  readonly length: number;
}

/** Where the runs of a row's tokens are in a tensor, in bytes. */
export function rowRuns({ data, dims }: Tensor, { tensor, row, alignment, length }: RowPlace) {
  const { batchAxis, lengthAxis } = tensor;
  const tokensAxis = lengthAxis ?? dims.length;
  const middle = elementCount(dims.slice(batchAxis + 1, tokensAxis));
  const inner = elementCount(dims.slice(tokensAxis + 1));
  const span = dims[tokensAxis] ?? 1;
  const tokens = lengthAxis === null ? 1 : length;
  const skip = alignment === "end" ? span - tokens : 0;
  const unit = inner * data.BYTES_PER_ELEMENT;
  const rows = dims[batchAxis] ?? 1;
  return {
    count: elementCount(dims.slice(0, batchAxis)) * middle,
    byteLength: tokens * unit,
    start(run: number): number {
      const part = run % middle;
      const block = (run - part) / middle;
      return (((block * rows + row) * middle + part) * span + skip) * unit;
    },
  };
}

/** Bytes and not values: newer Nodes have an own array for float16, older ones its bits. */
export function bytesOf({ data }: Tensor): Uint8Array {
  return new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
}

function dimsOf({ dims }: CacheTensor, rows: number, span: number): number[] {
  return dims.map((dim) => {
    if (dim === "batch") return rows;
    return dim === "length" ? span : dim;
  });
}

function allocate(tensor: CacheTensor, rows: number, span: number): Tensor {
  const { type } = tensor;
  if (type !== "float32" && type !== "float16")
    throw new Error(`caches of type ${type} are not kept: export with float32 or float16`);
  const dims = dimsOf(tensor, rows, span);
  return { type, data: new DATA[type](elementCount(dims)), dims };
}
