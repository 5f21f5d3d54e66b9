import type { BatchAbilities } from "./batch-abilities.js";
import { copyBytes, HostMemory } from "../../../runtime/ort/host-memory.js";
import type { CacheTensor } from "../decoder-layout.js";
import type { Decoder } from "../decoder.js";
import {
  bytesPerToken,
  type CacheRoom,
  type CacheRow,
  type KvCache,
  openCache,
  createCache,
  plus,
  rowRuns,
} from "../kv-cache.js";
import type { Alignment } from "../request/request.js";

interface PromptCacheSetup {
  readonly decoder: Decoder;
  readonly abilities: BatchAbilities;
  /** Most bytes of blocks; 0 keeps nothing. */
  readonly maxBytes: number;
}

/** A step of a chain from a scope's beginning: its key names the one before and its own tokens. */
interface Link {
  readonly key: string;
  readonly id: number;
  readonly block: KvBlock;
}

/**
 * Memory of prompts and answers that were read before, in blocks of `BLOCK_TOKENS`. Chains of blocks share
 * their beginnings; they are found token for token, within one scope only, so that no project can tell by
 * the time of an answer what another has asked. The least lately used blocks go, ends of chains first.
 */
export class PromptCache {
  readonly #setup: PromptCacheSetup;
  readonly #maxBlocks: number;
  /** Oldest first; a link is always older than the one before it in its chain. */
  readonly #links = new Map<string, Link>();
  #lastId = 0;

  constructor(setup: PromptCacheSetup) {
    this.#setup = setup;
    const { decoder, abilities, maxBytes } = setup;
    const { caches } = decoder.layout;
    const isCuttable = caches.every(({ lengthAxis }) => lengthAxis !== null);
    const blockBytes = Math.max(1, bytesPerToken(caches) * BLOCK_TOKENS);
    this.#maxBlocks = isCuttable && abilities.readsInParts ? Math.floor(maxBytes / blockBytes) : 0;
  }

  /**
   * A cache of one row that remembers the longest known beginning; at least one token is left to read. It has
   * room for all tokens, and for `capacity` rows.
   */
  open(scope: string | undefined, tokens: readonly number[], capacity: number): KvCache {
    const { layout } = this.#setup.decoder;
    const room = { room: tokens.length, capacity };
    const most = scope === undefined ? 0 : blocksOf(tokens.length - 1);
    const chain = this.#find(scope ?? "", tokens, most);
    if (chain.length === 0) return openCache(layout.caches, room);
    this.#touch(chain);
    const blocks = chain.map(({ block }) => block);
    return joinBlocks(layout.caches, blocks, room);
  }

  /** Keeps what a row remembers of these tokens, as far as it is not known and there is room. */
  async keep(scope: string, tokens: readonly number[], row: CacheRow): Promise<void> {
    const length = Math.min(tokens.length, row.cache.lengths[row.row] ?? 0);
    const to = Math.min(blocksOf(length), this.#maxBlocks);
    const chain = this.#find(scope, tokens, to);
    const from = chain.length;
    if (from < to) {
      const { decoder, abilities } = this.#setup;
      const { alignment } = abilities;
      const range = { row, alignment, from, to };
      const blocks = copyBlocks(decoder.layout.caches, range);
      for (const block of blocks) {
        this.#lastId += 1;
        const key = keyOf(chain.at(-1), scope, blockAt(tokens, chain.length));
        chain.push({ key, id: this.#lastId, block });
      }
    }
    this.#touch(chain);
    for (const [key, { block }] of this.#links) {
      if (this.#links.size <= this.#maxBlocks) break;
      this.#links.delete(key);
      block.release();
    }
  }

  close(): void {
    for (const { block } of this.#links.values()) block.release();
    this.#links.clear();
  }

  #find(scope: string, tokens: readonly number[], most: number): Link[] {
    const chain: Link[] = [];
    while (chain.length < most) {
      const link = this.#links.get(keyOf(chain.at(-1), scope, blockAt(tokens, chain.length)));
      if (link === undefined) break;
      chain.push(link);
    }
    return chain;
  }

  /** Makes a chain the latest used, its end before its beginning. */
  #touch(chain: readonly Link[]): void {
    for (const link of chain.toReversed()) {
      this.#links.delete(link.key);
      this.#links.set(link.key, link);
    }
  }
}

function blocksOf(length: number): number {
  return Math.max(0, Math.floor(length / BLOCK_TOKENS));
}

function blockAt(tokens: readonly number[], index: number): readonly number[] {
  return tokens.slice(index * BLOCK_TOKENS, (index + 1) * BLOCK_TOKENS);
}

function keyOf(before: Link | undefined, scope: string, tokens: readonly number[]): string {
  return `${before === undefined ? `scope ${scope}` : before.id}:${tokens.join()}`;
}

/** Tokens of a block: memory is found again, and given up, by this many. */
const BLOCK_TOKENS = 32;

/** What a row remembers of `BLOCK_TOKENS` tokens: of each tensor in turn, run after run. */
type KvBlock = HostMemory;

interface BlockRange {
  readonly row: CacheRow;
  readonly alignment: Alignment;
  /** Blocks from the row's beginning, the second not included. */
  readonly from: number;
  readonly to: number;
}

/** Copies blocks out of a row that has at least `to` of them. */
function copyBlocks(
  tensors: readonly CacheTensor[],
  { row: { cache, row }, alignment, from, to }: BlockRange,
): KvBlock[] {
  const blockBytes = bytesPerToken(tensors) * BLOCK_TOKENS;
  const blocks = Array.from({ length: to - from }, () => new HostMemory(blockBytes));
  for (const block of blocks) block.hold();
  const length = cache.lengths[row] ?? 0;
  let written = 0;
  for (const [layer, tensor] of tensors.entries()) {
    const past = cache.layers[layer]?.past;
    if (past === undefined) continue;
    const runs = rowRuns(past, { tensor, row, alignment, length });
    const runBytes = (runs.byteLength / length) * BLOCK_TOKENS;
    past.at((address) => {
      for (let run = 0; run < runs.count; run += 1) {
        for (const [index, block] of blocks.entries()) {
          const start = runs.start(run) + (from + index) * runBytes;
          copyBytes(plus(block.address, written), plus(address, start), runBytes);
        }
        written += runBytes;
      }
    });
  }
  return blocks;
}

/** A cache of one row that remembers these blocks. */
function joinBlocks(
  tensors: readonly CacheTensor[],
  blocks: readonly KvBlock[],
  room: CacheRoom,
): KvCache {
  const length = blocks.length * BLOCK_TOKENS;
  let read = 0;
  return createCache(tensors, {
    lengths: [length],
    ...room,
    fill(tensor, target) {
      const runs = rowRuns(target, { tensor, row: 0, alignment: "equal", length });
      const runBytes = runs.byteLength / blocks.length;
      target.at((address) => {
        for (let run = 0; run < runs.count; run += 1) {
          const at = plus(address, runs.start(run));
          for (const [index, block] of blocks.entries())
            copyBytes(plus(at, index * runBytes), plus(block.address, read), runBytes);
          read += runBytes;
        }
      });
    },
  });
}
