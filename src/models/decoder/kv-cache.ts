import type { RepeatedStep } from "../../runtime/ort/graphs.js";
import type { Pointer } from "../../runtime/ort/api.js";
import { copyBytes, HostMemory } from "../../runtime/ort/host-memory.js";
import { byteLengthOf, type Shape, Value } from "../../runtime/ort/value.js";
import { DATA, elementCount } from "../../runtime/tensors/tensor.js";
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
  /** What was read before, whose memory the next step may write to. */
  readonly spare?: Value | undefined;
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
    readonly fill?: (tensor: CacheTensor, target: Value, layer: number) => void;
  },
): KvCache {
  const span = Math.max(0, ...lengths);
  const layers = tensors.map((tensor, layer) => {
    const past = tensor.sharesBuffer
      ? allocate(tensor, {
          rows: lengths.length,
          capacity,
          span: roomIn(tensor, Math.max(span, room)),
        })
      : allocate(tensor, { rows: lengths.length, span });
    fill?.(tensor, past, layer);
    return { past };
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
    const size = { rows: lengths.length, capacity: capacityOf(tensor, before.past) };
    const past = allocate(tensor, { ...size, span: roomIn(tensor, needed) });
    copyRows(tensor, { rows, target: past, layer, alignment: "start" });
    return { past };
  });
  return { lengths, span, layers };
}

/** Where a step writes a layer that grows to `span` tokens: into what is shared or spare, else into new memory. */
export function growthOf(tensor: CacheTensor, { past, spare }: CacheLayer, span: number): Value {
  if (tensor.sharesBuffer) return past;
  const rows = past.dims[tensor.batchAxis] ?? 1;
  const shape = { type: tensor.type, dims: dimsOf(tensor, rows, span) };
  const memory = spare?.isClosed === false ? spare.memory : undefined;
  if (memory !== undefined && memory.byteLength >= byteLengthOf(shape))
    return Value.in(memory, shape);
  const room = { type: tensor.type, dims: dimsOf(tensor, rows, roomFor(span)) };
  return Value.in(new HostMemory(byteLengthOf(room)), shape);
}

/** The layer after a step that was written into `grown`; its old memory is spare. */
export function grownLayer({ past, spare }: CacheLayer, grown: Value): CacheLayer {
  if (past === grown) return { past, spare };
  spare?.close();
  if (past.memory !== undefined) return { past: grown, spare: past };
  past.close();
  return { past: grown };
}

/** Memory grows by an eighth, and by this many tokens at least. */
const ROOM_TOKENS = 64;

function roomFor(span: number): number {
  const room = span + Math.max(1, span >> 3);
  return Math.ceil(room / ROOM_TOKENS) * ROOM_TOKENS;
}

function roomIn({ leastRoom = 0 }: CacheTensor, span: number): number {
  return roomFor(Math.max(span, leastRoom));
}

/** Frees what no other cache has in its place. */
export function closeCache({ layers, step }: KvCache, other?: KvCache): void {
  step?.run.close();
  step?.logits.close();
  for (const [at, layer] of layers.entries()) {
    if (layer === other?.layers[at]) continue;
    const { past, spare } = layer;
    past.close();
    spare?.close();
  }
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
      const { type, dims, memory } = into.layers[layer]?.past ?? {};
      if (type === undefined || dims === undefined || memory === undefined) return [];
      const past = Value.in(memory, { type, dims: dims.with(tensor.batchAxis, rows.length) });
      copyRows(tensor, { rows: moved, target: past, layer, alignment });
      return { past };
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
    const capacity = capacityOf(tensor, past);
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

/** Rows that a buffer has room for. */
function capacityOf({ batchAxis }: CacheTensor, { type, dims, memory }: Value): number {
  const rowBytes = byteLengthOf({ type, dims: dims.with(batchAxis, 1) });
  return memory === undefined ? 0 : memory.byteLength / rowBytes;
}

interface RowsCopy {
  /** Null where nothing is to be written. */
  readonly rows: readonly (CacheRow | null)[];
  readonly target: Value;
  readonly layer: number;
  readonly alignment: Alignment;
}

function copyRows(tensor: CacheTensor, { rows, target, layer, alignment }: RowsCopy): void {
  target.at((into) => {
    for (const [index, row] of rows.entries()) {
      const source = row?.cache.layers[layer]?.past;
      if (row === null || source === undefined) continue;
      const length = lengthOf(row);
      const from = rowRuns(source, { tensor, row: row.row, alignment, length });
      const to = rowRuns(target, { tensor, row: index, alignment, length });
      source.at((address) => {
        for (let run = 0; run < to.count; run += 1)
          copyBytes(plus(into, to.start(run)), plus(address, from.start(run)), to.byteLength);
      });
    }
  });
}

export function plus(address: Pointer, byteLength: number): Pointer {
  return address + BigInt(byteLength);
}

interface RowPlace {
  readonly tensor: CacheTensor;
  readonly row: number;
  readonly alignment: Alignment;
  readonly length: number;
}

/** Where the runs of a row's tokens are in a tensor, in bytes. */
export function rowRuns({ type, dims }: Shape, { tensor, row, alignment, length }: RowPlace) {
  const { batchAxis, lengthAxis } = tensor;
  const tokensAxis = lengthAxis ?? dims.length;
  const middle = elementCount(dims.slice(batchAxis + 1, tokensAxis));
  const inner = elementCount(dims.slice(tokensAxis + 1));
  const span = dims[tokensAxis] ?? 1;
  const tokens = lengthAxis === null ? 1 : length;
  const skip = alignment === "end" ? span - tokens : 0;
  const unit = inner * DATA[type].BYTES_PER_ELEMENT;
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

function dimsOf({ dims }: CacheTensor, rows: number, span: number): number[] {
  return dims.map((dim) => {
    if (dim === "batch") return rows;
    return dim === "length" ? span : dim;
  });
}

interface CacheSize {
  readonly rows: number;
  /** Rows that there is room for; as many as there are where absent. */
  readonly capacity?: number;
  readonly span: number;
}

function allocate(tensor: CacheTensor, { rows, capacity = rows, span }: CacheSize): Value {
  const { type } = tensor;
  if (type !== "float32" && type !== "float16")
    throw new Error(`caches of type ${type} are not kept: export with float32 or float16`);
  const memory = new HostMemory(byteLengthOf({ type, dims: dimsOf(tensor, capacity, span) }));
  return Value.in(memory, { type, dims: dimsOf(tensor, rows, span) });
}
