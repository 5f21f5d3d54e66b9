import type { RepeatedStep } from "../../runtime/ort/graphs.js";
import {
  DATA,
  elementCount,
  type Tensor,
  type TensorData,
  type TensorType,
} from "../../runtime/tensors/tensor.js";
import { hostZeros, Value } from "../../runtime/ort/value.js";
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

/** What shared buffers have room for. */
export interface CacheRoom {
  /** Tokens, at least. */
  readonly room: number;
  /** Rows. */
  readonly capacity: number;
}

/** A cache of one row without tokens. */
export function openCache(tensors: readonly CacheTensor[], room?: CacheRoom): KvCache {
  return createCache(tensors, { lengths: [0], ...room });
}

/** A cache of rows of these lengths; `fill` writes what they remember, all zero before. */
export function createCache(
  tensors: readonly CacheTensor[],
  {
    lengths,
    room = 0,
    capacity = lengths.length,
    fill,
  }: Partial<CacheRoom> & {
    readonly lengths: readonly number[];
    readonly fill?: (tensor: CacheTensor, target: Tensor, layer: number) => void;
  },
): KvCache {
  const span = Math.max(0, ...lengths);
  const layers = tensors.map((tensor, layer) => {
    const target = tensor.sharesBuffer
      ? firstRows(tensor, allocate(tensor, capacity, roomFor(Math.max(span, room))), lengths.length)
      : allocate(tensor, lengths.length, span);
    fill?.(tensor, target, layer);
    return { past: Value.of(target) };
  });
  return { lengths, span, layers };
}

/** The cache, or one in its place whose shared buffers have room for `width` more tokens. */
export function withRoom(tensors: readonly CacheTensor[], cache: KvCache, width: number): KvCache {
  const needed = cache.span + width;
  if (roomOf(tensors, cache) >= needed) return cache;
  const { lengths, span } = cache;
  const rows = lengths.map((_, row) => ({ cache, row }));
  const layers = tensors.flatMap((tensor, layer) => {
    const before = cache.layers[layer];
    if (before === undefined || !tensor.sharesBuffer) return before ?? [];
    const { dims } = wholeBuffer(tensor, before.past.read());
    const whole = allocate(tensor, dims[tensor.batchAxis] ?? 1, roomFor(needed));
    const target = firstRows(tensor, whole, lengths.length);
    copyRows(tensor, { rows, target, layer, alignment: "start" });
    return { past: Value.of(target) };
  });
  return { lengths, span, layers };
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

interface Rows {
  readonly rows: readonly CacheRow[];
  readonly alignment: Alignment;
}

/**
 * A new cache of these rows, no longer than the longest of them. Copies once; a row may be named more
 * than once. The caches it read stay as they are.
 */
export function mergeRows(tensors: readonly CacheTensor[], { rows, alignment }: Rows): KvCache {
  return createCache(tensors, {
    lengths: rows.map(lengthOf),
    capacity: capacityFor(rows.length),
    fill: (tensor, target, layer) => copyRows(tensor, { rows, target, layer, alignment }),
  });
}

/** Rows of a cache that was brought together, each the place of one that was asked for. */
export interface JoinedRows {
  readonly cache: KvCache;
  readonly order: readonly number[];
}

/**
 * The same in one of the caches' own shared buffers where they have room: only rows that change their place
 * are copied. All caches but the returned one are the caller's to close, and to use no more.
 */
export function joinRows(tensors: readonly CacheTensor[], { rows, alignment }: Rows): JoinedRows {
  for (const into of new Set(rows.map(({ cache }) => cache))) {
    const order = placesIn(into, rows);
    const ordered = order.flatMap((at) => rows[at] ?? []);
    const moved = ordered.map((row, place) => (isAt(row, into, place) ? null : row));
    if (rows.length === into.lengths.length && moved.every((row) => row === null))
      return { cache: into, order };
    if (!hasRoomFor(tensors, into, rows)) continue;
    const layers = tensors.flatMap((tensor, layer) => {
      const past = into.layers[layer]?.past;
      if (past === undefined) return [];
      const target = firstRows(tensor, wholeBuffer(tensor, past.read()), rows.length);
      copyRows(tensor, { rows: moved, target, layer, alignment });
      return { past: Value.of(target) };
    });
    const lengths = ordered.map(lengthOf);
    return { cache: { lengths, span: Math.max(0, ...lengths), layers }, order };
  }
  return { cache: mergeRows(tensors, { rows, alignment }), order: rows.map((_, at) => at) };
}

/** Rows keep their places in the cache as far as there are so many; the others take what is free. */
function placesIn(into: KvCache, rows: readonly CacheRow[]): number[] {
  const kept = new Map<number, number>();
  for (const [at, { cache, row }] of rows.entries())
    if (cache === into && row < rows.length && !kept.has(row)) kept.set(row, at);
  const keeping = new Set(kept.values());
  const others = [...rows.keys()].filter((at) => !keeping.has(at));
  return rows.map((_, place) => kept.get(place) ?? others.shift() ?? 0);
}

function isAt({ cache, row }: CacheRow, into: KvCache, place: number): boolean {
  return cache === into && row === place;
}

function lengthOf({ cache, row }: CacheRow): number {
  return cache.lengths[row] ?? 0;
}

/** Buffers with room for more than this many times the rows are given up. */
const SPARSE = 4;

function hasRoomFor(
  tensors: readonly CacheTensor[],
  into: KvCache,
  rows: readonly CacheRow[],
): boolean {
  const span = Math.max(...rows.map(lengthOf));
  return tensors.every((tensor, layer) => {
    const past = into.layers[layer]?.past;
    if (past === undefined || !tensor.sharesBuffer || tensor.batchAxis !== 0) return false;
    const capacity = wholeBuffer(tensor, past.read()).dims[0] ?? 0;
    return (
      (past.dims[tensor.lengthAxis ?? 0] ?? 0) > span &&
      capacity >= rows.length &&
      capacity <= SPARSE * rows.length
    );
  });
}

/** Rows that shared buffers are made for: each time twice as many. */
export function capacityFor(rows: number): number {
  return 2 ** Math.ceil(Math.log2(Math.max(1, rows)));
}

/** Tokens that the cache has room for without new memory; infinite where that is not how it grows. */
export function roomOf(tensors: readonly CacheTensor[], { layers }: KvCache): number {
  const rooms = tensors.map(({ sharesBuffer, lengthAxis }, layer) =>
    sharesBuffer ? (layers[layer]?.past.dims[lengthAxis ?? 0] ?? 0) : Infinity,
  );
  return Math.min(Infinity, ...rooms);
}

/** All rows that a shared buffer has room for. */
function wholeBuffer({ batchAxis }: CacheTensor, { type, data, dims }: Tensor): Tensor {
  const whole = wholeOf(type, data);
  const capacity = whole.length / elementCount(dims.toSpliced(batchAxis, 1));
  return { type, data: whole, dims: dims.with(batchAxis, capacity) };
}

function firstRows({ batchAxis }: CacheTensor, { type, data, dims }: Tensor, rows: number): Tensor {
  const own = dims.with(batchAxis, rows);
  return { type, data: data.subarray(0, elementCount(own)), dims: own };
}

interface RowsCopy {
  /** Null where nothing is to be written. */
  readonly rows: readonly (CacheRow | null)[];
  readonly target: Tensor;
  readonly layer: number;
  readonly alignment: Alignment;
}

function copyRows(tensor: CacheTensor, { rows, target, layer, alignment }: RowsCopy): void {
  for (const [index, from] of rows.entries()) {
    if (from === null) continue;
    const { cache, row } = from;
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
  const length = elementCount(dims);
  // What takes turns with a spare is never closed for good.
  const data = tensor.sharesBuffer ? hostZeros(type, length) : new DATA[type](length);
  return { type, data, dims };
}
