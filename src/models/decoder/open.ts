import { setMaxListeners } from "node:events";
import { setImmediate as nextTurn } from "node:timers/promises";
import { EventQueue } from "../../core/async/event-queue.js";
import { toJobError } from "../../core/errors.js";
import type { GraphRun } from "../../core/modality.js";
import { type GraphsSetup, openGraphs } from "../../runtime/ort/graphs.js";
import {
  graphsSetup,
  type ModelPackage,
  threadsFor,
} from "../../runtime/packages/model-package.js";
import { TokenSampler } from "../sampling/token-sampler.js";
import { loadModelTokenizer, type TextTokenizer } from "../tokenizer/text-tokenizer.js";
import { findBatchAbilities, sharesBuffers, TextBatch } from "./batch/index.js";
import { type DecoderConfig, readDecoderConfig } from "./settings.js";
import {
  type CacheTensor,
  logitsName,
  readDecoderLayout,
  requireCaches,
} from "./decoder-layout.js";
import { createDecoder, type Decoder, DECODER, EMBEDDER } from "./decoder.js";
import type { Continuation } from "./choice.js";
import { createGeneration, type Generation } from "./generation.js";
import { closeCache, openCache } from "./kv-cache.js";
import type {
  MaskFactory,
  StepItem,
  TextEvent,
  TextJob,
  TextModelInfo,
} from "./request/request.js";

export interface TextEngineOptions {
  /** CPU threads of the decoder. */
  readonly threads: number;
  /** Most bytes of caches; 4 GiB where absent. */
  readonly maxCacheBytes?: number;
  /** Most bytes of prompts that are remembered for later ones; none where absent. */
  readonly promptCacheBytes?: number | undefined;
  /** Told of every run of the graph, for measurements. */
  readonly onRun?: ((run: GraphRun) => void) | undefined;
  /** False for an engine that reads prompts only, whose graph may have no caches. */
  readonly writes?: boolean;
}

/** A chat model that continues many requests in one run of its graph. */
export interface TextEngine {
  readonly info: TextModelInfo;
  /**
   * Text as it becomes certain, of all choices, and at last `end` with the usage. Throws `JobError`;
   * an aborted signal, or leaving the loop, frees the request's rows before the next step.
   */
  generate(job: TextJob, signal: AbortSignal): AsyncIterable<TextEvent>;
  /** What token ids say, tokens of structure included. */
  textOf(ids: readonly number[]): string;
  close(): Promise<void>;
}

/** What a prompt is read for. */
export interface Reading {
  readonly promptTokens: readonly number[];
  readonly tokenIds: readonly number[];
  /** Whose earlier prompts may serve this one, and later ones it. */
  readonly cacheScope?: string | undefined;
}

/** An engine that also tells what may follow a prompt, without writing it. */
export interface ReadingEngine extends TextEngine {
  readonly tokenizer: TextTokenizer;
  /** Logits of these tokens behind the prompt's last one, in their order. */
  logitsAfter(reading: Reading, signal: AbortSignal): Promise<Float32Array>;
}

/** Opens the package. Throws a sentence that names what is missing or cannot be used. */
export function openTextEngine(
  model: ModelPackage,
  options: TextEngineOptions,
): Promise<TextEngine> {
  return openReadingEngine(model, options);
}

export async function openReadingEngine(
  model: ModelPackage,
  options: TextEngineOptions,
): Promise<ReadingEngine> {
  return createEngine(await openTextBatch(model, options));
}

/** The id of a word that is one token. Throws where it is none. */
export function tokenOf(tokenizer: TextTokenizer, word: string): number {
  const id = tokenizer.idOf(word);
  if (id !== undefined) return id;
  throw new Error(`the model answers ${word}, which is no token of its tokenizer`);
}

/** Time that newcomers take at most between two steps of those that are there. */
const ADMISSION_MS = 20;

interface Newcomer {
  readonly id: number;
  create(id: number): Promise<Generation>;
}

function createEngine(opened: OpenBatch): ReadingEngine {
  const { info, batch } = opened;
  const answers = new Map<number, EventQueue<TextEvent>>();
  let newcomers: Newcomer[] = [];
  let cancelled: readonly number[] = [];
  let lastId = 0;
  let isClosing = false;
  let wake: () => void = () => {};

  const deliver = (item: StepItem) => {
    const queue = answers.get(item.id);
    if (queue === undefined) return;
    if ("failure" in item) queue.fail(item.failure);
    else for (const event of item.events) queue.push(event);
    const isEnded = "failure" in item || item.events.some(({ type }) => type === "end");
    if (!isEnded) return;
    if (!("failure" in item)) queue.end();
    answers.delete(item.id);
  };
  const dropCancelled = () => {
    newcomers = newcomers.filter(({ id }) => !cancelled.includes(id));
    for (const id of cancelled) batch.cancel(id);
    cancelled = [];
  };
  /** Others take their turn, callers that hung up among them. */
  const pause = async () => {
    await nextTurn();
    dropCancelled();
  };
  /** Newcomers whose grammars take long come in over several steps. */
  const admit = async () => {
    const endsAt = performance.now() + ADMISSION_MS;
    dropCancelled();
    while (performance.now() < endsAt || batch.isIdle) {
      const next = newcomers.shift();
      if (next === undefined) return;
      try {
        batch.add(await next.create(next.id));
      } catch (thrown) {
        deliver({ id: next.id, failure: toJobError(thrown) });
      }
    }
  };
  const serve = async () => {
    while (!isClosing) {
      await admit();
      if (batch.isIdle) {
        if (newcomers.length === 0 && !isClosing)
          await new Promise<void>((resolve) => (wake = resolve));
        continue;
      }
      for (const item of await batch.step(pause)) deliver(item);
      await nextTurn();
    }
  };
  const serving = serve().catch((thrown: unknown) => {
    isClosing = true;
    const failure = toJobError(thrown);
    for (const id of answers.keys()) deliver({ id, failure });
  });

  async function* follow(
    create: Newcomer["create"],
    signal: AbortSignal,
  ): AsyncGenerator<TextEvent> {
    signal.throwIfAborted();
    if (isClosing) throw new Error("the text engine has ended");
    const queue = new EventQueue<TextEvent>();
    const id = ++lastId;
    answers.set(id, queue);
    newcomers.push({ id, create });
    wake();
    const abort = () => queue.fail(abortReason(signal));
    signal.addEventListener("abort", abort, { once: true });
    try {
      yield* queue;
    } finally {
      signal.removeEventListener("abort", abort);
      if (answers.delete(id)) cancelled = [...cancelled, id];
      wake();
    }
  }

  return {
    info,
    tokenizer: opened.tokenizer,
    generate: (job, signal) => follow((id) => opened.createGeneration(id, job), signal),
    async logitsAfter(reading, signal) {
      // A request asks of many prompts at once.
      setMaxListeners(0, signal);
      let found: Float32Array | undefined;
      const take = (logits: Float32Array) => {
        found = Float32Array.from(reading.tokenIds, (id) => logits[id] ?? -Infinity);
      };
      const create = async (id: number) => createReading(id, reading, take);
      for await (const { type } of follow(create, signal)) if (type === "end") break;
      if (found === undefined) throw new Error("the prompt was not read to its end");
      return found;
    },
    textOf: (ids) => opened.textOf(ids),
    async close() {
      isClosing = true;
      wake();
      await serving;
      await opened.close();
    },
  };
}

/** A prompt whose end is all that is asked for. */
function createReading(
  id: number,
  { promptTokens, cacheScope }: Reading,
  take: (logits: Float32Array) => void,
): Generation {
  const asked: Continuation = {
    lastToken: 0,
    written: [],
    tokenCount: 0,
    reasoningTokenCount: 0,
    isEnded: false,
    advance(logits) {
      asked.isEnded = true;
      take(logits);
      return undefined;
    },
  };
  return { id, promptTokens, choices: [asked], cacheScope, cachedTokens: 0, isBroken: false };
}

function abortReason({ reason }: AbortSignal): Error {
  return reason instanceof Error ? reason : new Error(String(reason));
}

const DEFAULT_CACHE_BYTES = 4 * 2 ** 30;

interface OpenBatch {
  readonly info: TextModelInfo;
  readonly tokenizer: TextTokenizer;
  readonly batch: TextBatch;
  createGeneration(id: number, job: TextJob): Promise<Generation>;
  textOf(ids: readonly number[]): string;
  close(): Promise<void>;
}

/** Opens a package's decoder and tokenizer. */
async function openTextBatch(model: ModelPackage, options: TextEngineOptions): Promise<OpenBatch> {
  const { threads, maxCacheBytes = DEFAULT_CACHE_BYTES, promptCacheBytes } = options;
  const tokenizer = await loadModelTokenizer(model);
  const config = await readDecoderConfig(model, tokenizer);
  const setup = {
    ...graphsSetup(model, EMBEDDER in model.files ? [DECODER, EMBEDDER] : [DECODER]),
    threads: threadsFor(model, DECODER, threads),
    plans: true,
    staysAwake: true,
  };
  // What follows a prompt is asked of its last token only, and most of the others' logits would be lost.
  const trimmed = { ...setup, lastPositionOf: { [DECODER]: logitsName(config.names) } };
  const opened = await openDecoder(trimmed, config, options).catch(() =>
    openDecoder(setup, config, options),
  );
  const { decoder, abilities, vocabSize } = opened;
  const { concurrency: maxRows } = model.execution;
  const batch = new TextBatch({ decoder, abilities, maxRows, maxCacheBytes, promptCacheBytes });
  const sampler = new TokenSampler(vocabSize);
  const loadMasks = onceLoaded(tokenizer, vocabSize, config);
  return {
    info: {
      vocabSize,
      contextTokens: config.contextTokens,
      alignment: abilities.alignment,
      sharesBuffers: opened.isShared,
      addedTokens: tokenizer.addedTokens,
    },
    tokenizer,
    batch,
    createGeneration: (id, job) =>
      createGeneration(id, job, { tokenizer, config, sampler, loadMasks }),
    textOf: (ids) => tokenizer.decode(ids, { keepSpecialTokens: true }),
    async close() {
      batch.close();
      await opened.close();
    },
  };
}

/** Opens the graph and tries how it takes rows, parts of prompts and memory. */
async function openDecoder(
  setup: GraphsSetup,
  config: DecoderConfig,
  { onRun, writes = true }: TextEngineOptions,
) {
  const graphs = await openGraphs(setup, onRun);
  try {
    const graph = graphs.info[DECODER];
    if (graph === undefined) throw new Error(`the package has no ${DECODER}`);
    const layout = readDecoderLayout(graph, config.names, {
      headSize: config.headSize,
      slidingWindow: config.slidingWindow,
      embedder: graphs.info[EMBEDDER],
    });
    if (writes) requireCaches(layout);
    const { firstPosition } = config;
    const separate = createDecoder({ graphs, layout, firstPosition });
    const vocabSize = layout.vocabSize ?? (await measureVocabulary(separate));
    const sharing = { ...layout, vocabSize, caches: layout.caches.map(shareBuffer) };
    const shared = createDecoder({ graphs, layout: sharing, firstPosition });
    const mustShare = layout.caches.some(({ leastRoom }) => leastRoom !== undefined);
    const isShared =
      graphs.isOnHost &&
      layout.caches.length > 0 &&
      (await sharesBuffers(shared, mustShare ? shared : separate, vocabSize));
    if (mustShare && !isShared) throw new Error(WINDOWED_CACHES);
    const decoder = isShared ? shared : separate;
    const abilities = await findBatchAbilities(decoder, vocabSize);
    return { decoder, vocabSize, isShared, abilities, close: () => graphs.close() };
  } catch (thrown) {
    await graphs.close();
    throw thrown;
  }
}

const WINDOWED_CACHES =
  "the decoder has caches of their own length for layers that see a window, which are served on the CPU, where its attention writes into the memory that it reads: build it with windowed_kv_cache=false";

/** States of one size are written anew with each token. */
function shareBuffer(cache: CacheTensor): CacheTensor {
  return { ...cache, sharesBuffer: cache.lengthAxis !== null };
}

/** Graphs may leave the vocabulary's dimension free: one token tells. */
async function measureVocabulary(decoder: Decoder): Promise<number> {
  const cache = openCache(decoder.layout.caches);
  const input = { cache, tokens: [0], width: 1, alignment: "equal", wantsLogits: true } as const;
  const { cache: grown, vocabSize } = await decoder.forward(input);
  closeCache(grown);
  return vocabSize;
}

/** Grammars are opened when a request first asks for one. */
function onceLoaded(
  tokenizer: TextTokenizer,
  vocabSize: number,
  config: DecoderConfig,
): () => Promise<MaskFactory> {
  let loading: Promise<MaskFactory> | undefined;
  return () => {
    loading ??= import("./grammar/index.js").then(({ createMaskFactory }) =>
      createMaskFactory(tokenizer.json, vocabSize, config.stopTokenIds),
    );
    return loading;
  };
}
