import type { JobError } from "../../../core/errors.js";
import type { BatchAbilities } from "./batch-abilities.js";
import { toRunError } from "../../../runtime/ort/run-error.js";
import type { Decoder } from "../decoder.js";
import type { Generation } from "../generation.js";
import { bytesPerToken, capacityFor, closeCache, type KvCache } from "../kv-cache.js";
import type { PromptCache } from "./prompt-cache.js";

/** Time that prompts are read for between two steps of running answers, and where there are none. */
const BESIDE_ANSWERS_MS = 60;
const ALONE_MS = 500;
/** Tokens read at once, powers of two: the first of all tell how long they take. */
const FIRST_TOKENS = 64;
const [FEWEST_TOKENS, MOST_TOKENS] = [16, 2048];
/** Tokens of an answer that room is kept for when it joins; most end before. */
const EXPECTED_TOKENS = 256;

export interface PromptQueueSetup {
  readonly decoder: Decoder;
  readonly abilities: BatchAbilities;
  /** Most answers at once. */
  readonly maxRows: number;
  /** Most bytes of caches; one request alone may take more. */
  readonly maxCacheBytes: number;
  /** Most bytes of prompts that are remembered for later ones, beside those; none by default. */
  readonly promptCacheBytes?: number | undefined;
}

/** What the running answers take. */
export interface Running {
  readonly rows: number;
  /** Tokens of the longest. */
  readonly span: number;
  /** Tokens that their buffers have room for. */
  readonly room: number;
}

/** A prompt that was read to its end, with the logits [vocabSize] of what follows it. */
export interface ReadPrompt {
  readonly generation: Generation;
  readonly cache: KvCache;
  readonly logits: Float32Array;
}

export interface FailedPrompt {
  readonly generation: Generation;
  readonly failure: JobError;
}

/** A prompt that is being read. */
interface Reading {
  readonly generation: Generation;
  /** Undefined before its first turn: prompts that are read until then may have its beginning. */
  cache: KvCache | undefined;
}

/** Requests that wait, in the order of arrival, and prompts that are read part by part, in turns. */
export class PromptQueue {
  readonly #setup: PromptQueueSetup;
  readonly #known: PromptCache;
  readonly #bytesPerToken: number;
  readonly #waiting: Generation[] = [];
  readonly #reading: Reading[] = [];
  /** Tokens a millisecond, as they were read last; undefined before. */
  #pace: number | undefined;

  constructor(setup: PromptQueueSetup, known: PromptCache) {
    this.#setup = setup;
    this.#known = known;
    this.#bytesPerToken = bytesPerToken(setup.decoder.layout.caches);
  }

  get isEmpty(): boolean {
    return this.#waiting.length + this.#reading.length === 0;
  }

  add(generation: Generation): void {
    this.#waiting.push(generation);
  }

  cancel(id: number): void {
    remove(this.#waiting, (generation) => generation.id === id);
    this.#drop(({ generation }) => generation.id === id);
  }

  close(): void {
    this.#drop(() => true);
  }

  #drop(isDropped: (reading: Reading) => boolean): void {
    for (const { cache } of remove(this.#reading, isDropped)) if (cache) closeCache(cache);
  }

  /** Reads one step's share of the prompts; returns and forgets what was read to its end. */
  async read(running: Running): Promise<(ReadPrompt | FailedPrompt)[]> {
    this.#admit(running);
    const results: (ReadPrompt | FailedPrompt)[] = [];
    let budget = this.#budget(running.rows > 0 ? BESIDE_ANSWERS_MS : ALONE_MS);
    for (let turn = this.#reading.length; turn > 0 && budget > 0; turn -= 1) {
      const reading = this.#reading.shift();
      if (reading === undefined) break;
      const cache = reading.cache ?? this.#open(reading, running);
      const left = reading.generation.promptTokens.length - doneOf(cache);
      const width = this.#setup.abilities.readsInParts ? Math.min(left, budget) : left;
      budget -= width;
      const result = await this.#readPart(reading, cache, width);
      if (result) results.push(result);
      else this.#reading.push(reading);
    }
    return results;
  }

  /** Tokens that are read in this time. */
  #budget(timeMs: number): number {
    const tokens = this.#pace === undefined ? FIRST_TOKENS : this.#pace * timeMs;
    const power = 2 ** Math.floor(Math.log2(Math.max(1, tokens)));
    return Math.min(MOST_TOKENS, Math.max(FEWEST_TOKENS, power));
  }

  /** As far as rows and memory go. */
  #admit(running: Running): void {
    for (let next = this.#waiting[0]; next !== undefined; next = this.#waiting[0]) {
      if (!this.#hasRoom(next, running)) return;
      this.#waiting.shift();
      this.#reading.push({ generation: next, cache: undefined });
    }
  }

  /** A prompt for which the running answers' buffers are too short has room for them in its own. */
  #open(reading: Reading, { rows, room }: Running): KvCache {
    const { generation } = reading;
    const { cacheScope, promptTokens } = generation;
    const isLonger = rows > 0 && promptTokens.length >= room;
    const capacity = isLonger ? capacityFor(rows + 1) : 1;
    const cache = this.#known.open(cacheScope, promptTokens, capacity);
    generation.cachedTokens = doneOf(cache);
    reading.cache = cache;
    return cache;
  }

  #hasRoom(next: Generation, running: Running): boolean {
    if (running.rows === 0 && this.#reading.length === 0) return true;
    const joining = [next, ...this.#reading.map(({ generation }) => generation)];
    const rows = joining.reduce((sum, { choices }) => sum + choices.length, running.rows);
    const prompts = joining.map(({ promptTokens }) => promptTokens.length);
    const span = Math.max(running.span, ...prompts) + EXPECTED_TOKENS;
    const { maxRows, maxCacheBytes } = this.#setup;
    return rows <= maxRows && rows * span * this.#bytesPerToken <= maxCacheBytes;
  }

  /** Reads `width` tokens; undefined while some are left. */
  async #readPart(
    reading: Reading,
    before: KvCache,
    width: number,
  ): Promise<ReadPrompt | FailedPrompt | undefined> {
    const { decoder, abilities } = this.#setup;
    const { generation } = reading;
    const done = doneOf(before);
    const end = done + width;
    const wantsLogits = end === generation.promptTokens.length;
    const startedAt = performance.now();
    try {
      const { cache, logits } = await decoder.forward({
        cache: before,
        tokens: generation.promptTokens.slice(done, end),
        width,
        alignment: abilities.alignment,
        wantsLogits,
      });
      if (width >= FEWEST_TOKENS) this.#pace = width / (performance.now() - startedAt);
      if (wantsLogits) return { generation, cache, logits: logits.slice() };
      reading.cache = cache;
      return undefined;
    } catch (thrown) {
      closeCache(before);
      return { generation, failure: toRunError(thrown) };
    }
  }
}

/** Tokens that a prompt's cache has. */
function doneOf({ lengths }: KvCache): number {
  return lengths[0] ?? 0;
}

/** Takes what fits out of the list. */
function remove<T>(list: T[], isTaken: (item: T) => boolean): T[] {
  const taken = list.filter(isTaken);
  list.splice(0, list.length, ...list.filter((item) => !isTaken(item)));
  return taken;
}
