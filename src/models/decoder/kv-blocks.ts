import type { Graphs } from "../../runtime/ort/graphs.js";
import { bytesOf, type CacheRow, keptName, type KvCache, putCache, rowRuns } from "./kv-cache.js";
import type { Alignment } from "./request/request.js";
import type { CacheTensor } from "./decoder-layout.js";

/** Tokens of a block: memory is found again, and given up, by this many. */
export const BLOCK_TOKENS = 32;

/** What a row remembers of `BLOCK_TOKENS` tokens: of each tensor in turn, run after run. */
export type KvBlock = Uint8Array;

export interface BlockRange {
  readonly row: CacheRow;
  readonly alignment: Alignment;
  /** Blocks from the row's beginning, the second not included. */
  readonly from: number;
  readonly to: number;
}

/** Copies blocks out of a row that has at least `to` of them. */
export async function copyBlocks(
  graphs: Graphs,
  tensors: readonly CacheTensor[],
  { row: { cache, row }, alignment, from, to }: BlockRange,
): Promise<KvBlock[]> {
  const parts: Uint8Array[][] = Array.from({ length: to - from }, () => []);
  const length = cache.lengths[row] ?? 0;
  for (const tensor of tensors) {
    const source = await graphs.kept(keptName(cache, tensor));
    const bytes = bytesOf(source);
    const runs = rowRuns(source, { tensor, row, alignment, length });
    const blockBytes = (runs.byteLength / length) * BLOCK_TOKENS;
    for (const [index, list] of parts.entries())
      for (let run = 0; run < runs.count; run += 1) {
        const start = runs.start(run) + (from + index) * blockBytes;
        list.push(bytes.subarray(start, start + blockBytes));
      }
  }
  return parts.map((list) => Buffer.concat(list));
}

/** A cache of one row that remembers these blocks. */
export function joinBlocks(
  graphs: Graphs,
  tensors: readonly CacheTensor[],
  blocks: readonly KvBlock[],
): KvCache {
  const length = blocks.length * BLOCK_TOKENS;
  let read = 0;
  return putCache(graphs, tensors, {
    lengths: [length],
    fill(tensor, target) {
      const bytes = bytesOf(target);
      const runs = rowRuns(target, { tensor, row: 0, alignment: "equal", length });
      const blockBytes = runs.byteLength / blocks.length;
      for (let run = 0; run < runs.count; run += 1) {
        const at = runs.start(run);
        for (const [index, block] of blocks.entries())
          bytes.set(block.subarray(read, read + blockBytes), at + index * blockBytes);
        read += blockBytes;
      }
    },
  });
}
