import { type JobError, toJobError } from "../../../core/errors.js";
import type { Continuation } from "../choice.js";
import { toRunError } from "../../../runtime/ort/run-error.js";
import { type Generation, usageOf } from "../generation.js";
import { type CacheRow, closeCache, joinRows, type KvCache, roomOf } from "../kv-cache.js";
import { PromptCache } from "./prompt-cache.js";
import {
  type FailedPrompt,
  PromptQueue,
  type PromptQueueSetup,
  type ReadPrompt,
  type Running,
} from "./prompt-queue.js";
import type { StepItem, TextEvent } from "../request/request.js";

/** An answer and where its memory is. */
interface Row {
  readonly generation: Generation;
  readonly choice: Continuation;
  readonly at: CacheRow;
}

/** A grammar's mask may take this long, and so may those of the other answers. */
const LONG_CHOICE_MS = 5;

/** Answers that are continued in one run. */
interface Group {
  cache: KvCache;
  rows: readonly Omit<Row, "at">[];
}

/**
 * Continuous batching: between any two steps prompts join and ended answers leave. Caches are copied
 * only then; in between they stay beside the graph.
 */
export class TextBatch {
  readonly #setup: PromptQueueSetup;
  readonly #prompts: PromptQueue;
  readonly #known: PromptCache;
  #groups: Group[] = [];
  #items = new Map<number, { events: TextEvent[]; failure?: JobError }>();

  constructor(setup: PromptQueueSetup) {
    this.#setup = setup;
    const { decoder, abilities, promptCacheBytes: maxBytes = 0 } = setup;
    this.#known = new PromptCache({ decoder, abilities, maxBytes });
    this.#prompts = new PromptQueue(setup, this.#known);
  }

  get isIdle(): boolean {
    return this.#prompts.isEmpty && this.#groups.length === 0;
  }

  add(generation: Generation): void {
    this.#prompts.add(generation);
  }

  /** The request's rows are gone with the next step; nothing more is said of it. */
  cancel(id: number): void {
    this.#prompts.cancel(id);
    for (const { generation } of this.#groups.flatMap(({ rows }) => rows))
      if (generation.id === id) endAll(generation);
    this.#items.delete(id);
  }

  /**
   * Reads a share of the waiting prompts, continues every answer by one token, and tells what was made.
   * `pause` is called where a token took long to choose: it may cancel.
   */
  async step(pause: () => Promise<void> = () => Promise.resolve()): Promise<StepItem[]> {
    for (const row of this.#groups.flatMap(rowsOf)) if (!isLive(row)) await this.#remember(row);
    const read = await this.#prompts.read(this.#running());
    const joining: Row[] = [];
    for (const prompt of read) joining.push(...(await this.#begin(prompt)));
    this.#regroup(joining);
    for (const group of this.#groups) await this.#advance(group, pause);
    const items = [...this.#items].map(([id, item]) => toItem(id, item));
    this.#items = new Map();
    return items;
  }

  /** Frees all memory, of answers that are not ended, too. */
  close(): void {
    for (const { cache } of this.#groups) closeCache(cache);
    this.#groups = [];
    this.#prompts.close();
    this.#known.close();
  }

  #running(): Running {
    const rows = this.#groups.flatMap((group) => group.rows.filter(isLive)).length;
    const caches = this.#groups.map(({ cache }) => cache);
    const rooms = caches.map((cache) => roomOf(this.#setup.decoder.layout.caches, cache));
    return {
      rows,
      span: Math.max(0, ...caches.map(({ span }) => span)),
      room: Math.max(0, ...rooms),
    };
  }

  /** Chooses the first tokens after a prompt; all choices share what was read of it. */
  async #begin(prompt: ReadPrompt | FailedPrompt): Promise<Row[]> {
    const { generation } = prompt;
    if ("failure" in prompt) {
      this.#fail(generation, prompt.failure);
      return [];
    }
    const { cache, logits } = prompt;
    const rows = generation.choices.map((choice) => ({
      generation,
      choice,
      at: { cache, row: 0 },
    }));
    for (const row of rows) this.#choose(row, rows.length > 1 ? logits.slice() : logits);
    const [first] = rows;
    if (first) await this.#remember(first);
    const living = rows.filter(isLive);
    if (living.length === 0) closeCache(cache);
    return living;
  }

  /** Lets ended answers go and new ones in. */
  #regroup(joining: readonly Row[]): void {
    let newcomers = joining;
    const groups: Group[] = [];
    for (const group of this.#groups) {
      const joins = newcomers.filter((row) => this.#fits(row, group));
      newcomers = newcomers.filter((row) => !joins.includes(row));
      groups.push(...this.#remake(group, joins));
    }
    while (newcomers.length > 0) {
      const [first] = newcomers;
      const together = newcomers.filter((row) => first && this.#isAlike(row.at, first.at));
      newcomers = newcomers.filter((row) => !together.includes(row));
      groups.push(...this.#remake(undefined, together));
    }
    this.#groups = groups;
  }

  /** For later prompts that begin like this one, or like it and its answer. */
  async #remember({ generation, choice, at }: Row): Promise<void> {
    const { cacheScope, promptTokens, isBroken } = generation;
    if (cacheScope === undefined || isBroken) return;
    await this.#known.keep(cacheScope, [...promptTokens, ...choice.written], at);
  }

  #fits({ at }: Row, { cache, rows }: Group): boolean {
    return rows.some(isLive) && this.#isAlike(at, { cache, row: 0 });
  }

  #isAlike(first: CacheRow, second: CacheRow): boolean {
    return this.#setup.abilities.alignment !== "equal" || lengthOf(first) === lengthOf(second);
  }

  #remake(group: Group | undefined, joins: readonly Row[]): Group[] {
    const staying = group ? rowsOf(group).filter(isLive) : [];
    if (group && joins.length === 0 && staying.length === group.rows.length) return [group];
    const rows = [...staying, ...joins];
    const caches = new Set(rows.map(({ at }) => at.cache));
    if (group) caches.add(group.cache);
    const joined = rows.length === 0 ? undefined : this.#join(rows);
    for (const old of caches) if (old !== joined?.cache) closeCache(old);
    return joined === undefined ? [] : [joined];
  }

  #join(rows: readonly Row[]): Group {
    const { decoder, abilities } = this.#setup;
    const { cache, order } = joinRows(decoder.layout.caches, {
      rows: rows.map(({ at }) => at),
      alignment: abilities.alignment,
    });
    const ordered = order.flatMap((place) => rows[place] ?? []);
    return { cache, rows: ordered.map(({ generation, choice }) => ({ generation, choice })) };
  }

  async #advance(group: Group, pause: () => Promise<void>): Promise<void> {
    const { decoder, abilities } = this.#setup;
    try {
      const { cache, logits, vocabSize } = await decoder.forward({
        cache: group.cache,
        tokens: group.rows.map(({ choice }) => choice.lastToken),
        width: 1,
        alignment: abilities.alignment,
        wantsLogits: true,
      });
      group.cache = cache;
      for (const [index, row] of group.rows.entries()) {
        const startedAt = performance.now();
        this.#choose(row, logits.subarray(index * vocabSize, (index + 1) * vocabSize));
        if (performance.now() - startedAt > LONG_CHOICE_MS) await pause();
      }
    } catch (thrown) {
      for (const { generation } of group.rows) this.#fail(generation, toRunError(thrown));
    }
  }

  #choose({ generation, choice }: Omit<Row, "at">, logits: Float32Array): void {
    if (choice.isEnded) return;
    try {
      const event = choice.advance(logits);
      if (event) this.#tell(generation.id, event);
      if (generation.choices.every(({ isEnded }) => isEnded))
        this.#tell(generation.id, { type: "end", usage: usageOf(generation) });
    } catch (thrown) {
      this.#fail(generation, toJobError(thrown));
    }
  }

  #tell(id: number, event: TextEvent): void {
    const item = this.#items.get(id);
    if (item) item.events.push(event);
    else this.#items.set(id, { events: [event] });
  }

  #fail(generation: Generation, failure: JobError): void {
    if (generation.choices.every(({ isEnded }) => isEnded)) return;
    endAll(generation);
    this.#items.set(generation.id, { events: [], failure });
  }
}

function rowsOf({ cache, rows }: Group): Row[] {
  return rows.map((row, index) => ({ ...row, at: { cache, row: index } }));
}

function isLive({ choice }: { readonly choice: Continuation }): boolean {
  return !choice.isEnded;
}

function lengthOf({ cache, row }: CacheRow): number {
  return cache.lengths[row] ?? 0;
}

function endAll(generation: Generation): void {
  generation.isBroken = true;
  for (const choice of generation.choices) choice.isEnded = true;
}

function toItem(
  id: number,
  { events, failure }: { readonly events: readonly TextEvent[]; readonly failure?: JobError },
): StepItem {
  if (failure === undefined) return { id, events };
  return { id, failure };
}
