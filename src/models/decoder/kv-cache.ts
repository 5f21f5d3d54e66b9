import type { Graphs } from "../../runtime/ort/graphs.js";
import {
  elementCount,
  type Tensor,
  type TensorData,
  type TensorType,
} from "../../runtime/tensors/tensor.js";
import type { CacheTensor } from "./decoder-layout.js";
import type { Alignment } from "./request/request.js";

/** The memory of a batch: one tensor a layer and part, kept beside the graph. */
export interface KvCache {
  readonly id: string;
  /** Tokens of each row. */
  readonly lengths: readonly number[];
  /** Tokens of the tensors: at least the longest row's. */
  readonly span: number;
}

/** One row of a cache. */
export interface CacheRow {
  readonly cache: KvCache;
  readonly row: number;
}

let lastCacheId = 0;

/** A cache of `rows` rows without tokens. */
export function openCache(graphs: Graphs, tensors: readonly CacheTensor[], rows: number): KvCache {
  return putCache(graphs, tensors, { lengths: Array.from({ length: rows }, () => 0) });
}

/** A cache of rows of these lengths; `fill` writes what they remember, all zero before. */
export function putCache(
  graphs: Graphs,
  tensors: readonly CacheTensor[],
  {
    lengths,
    fill,
  }: {
    readonly lengths: readonly number[];
    readonly fill?: (tensor: CacheTensor, target: Tensor) => void;
  },
): KvCache {
  const cache = { id: nextId(), lengths, span: Math.max(0, ...lengths) };
  for (const tensor of tensors) {
    const dims = dimsOf(tensor, lengths.length, cache.span);
    const target = { type: tensor.type, data: allocate(tensor.type, elementCount(dims)), dims };
    fill?.(tensor, target);
    graphs.put(keptName(cache, tensor), target);
  }
  return cache;
}

/** The name under which a layer's tensor is kept. */
export function keptName({ id }: Pick<KvCache, "id">, { past }: CacheTensor): string {
  return `${id}:${past}`;
}

export function closeCache(
  graphs: Graphs,
  tensors: readonly CacheTensor[],
  cache: Pick<KvCache, "id">,
): void {
  graphs.drop(tensors.map((tensor) => keptName(cache, tensor)));
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
export async function mergeRows(
  graphs: Graphs,
  tensors: readonly CacheTensor[],
  { rows, alignment }: { readonly rows: readonly CacheRow[]; readonly alignment: Alignment },
): Promise<KvCache> {
  const lengths = rows.map(({ cache, row }) => cache.lengths[row] ?? 0);
  const merged = { id: nextId(), lengths, span: Math.max(0, ...lengths) };
  for (const tensor of tensors) {
    const dims = dimsOf(tensor, rows.length, merged.span);
    const target = { type: tensor.type, data: allocate(tensor.type, elementCount(dims)), dims };
    for (const [index, { cache, row }] of rows.entries()) {
      const source = await graphs.kept(keptName(cache, tensor));
      const length = lengths[index] ?? 0;
      copyRow({ tensor, source, row, target, index, alignment, length });
    }
    graphs.put(keptName(merged, tensor), target);
  }
  return merged;
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

function allocate(type: TensorType, length: number): TensorData {
  if (type === "float16") return new Uint16Array(length);
  if (type === "float32") return new Float32Array(length);
  throw new Error(`caches of type ${type} are not kept: export with float32 or float16`);
}

function nextId(): string {
  lastCacheId += 1;
  return `cache${lastCacheId}`;
}
