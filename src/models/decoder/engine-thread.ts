import { setImmediate as nextTurn } from "node:timers/promises";
import { parentPort, receiveMessageOnPort, workerData } from "node:worker_threads";
import { toJobError, messageOf } from "../../core/errors.js";
import { toFailure } from "../../core/job.js";
import type { GraphRun } from "../../core/modality.js";
import { openGraphs } from "../../runtime/ort/graphs.js";
import { graphPaths, threadsFor } from "../../runtime/packages/model-package.js";
import { TokenSampler } from "../sampling/token-sampler.js";
import { loadModelTokenizer, type TextTokenizer } from "../tokenizer/text-tokenizer.js";
import { findBatchAbilities } from "./batch-abilities.js";
import { TextBatch } from "./batch.js";
import { type DecoderConfig, readDecoderConfig } from "./settings.js";
import { cacheBeginnings, readDecoderLayout } from "./decoder-layout.js";
import { createDecoder, type Decoder, DECODER } from "./decoder.js";
import { createGeneration, type Generation } from "./generation.js";
import { closeCache, openCache } from "./kv-cache.js";
import type {
  EngineReply,
  EngineRequest,
  EngineSetup,
  MaskFactory,
  StepItem,
  TextJob,
  TextModelInfo,
} from "./request/request.js";

/** The thread side of `open.ts`: opens a decoder and continues all requests together, step by step. */

const port = parentPort;
if (port === null) throw new Error("engine-thread.js runs inside a worker thread only");

let runs: GraphRun[] = [];
const inbox: EngineRequest[] = [];
/** Time that newcomers take at most between two steps of those that are there. */
const ADMISSION_MS = 20;
let wake: () => void = () => {};
port.on("message", (request: EngineRequest) => {
  inbox.push(request);
  wake();
});

async function serve(setup: EngineSetup): Promise<void> {
  const opened = await open(setup);
  if (opened === undefined) return;
  try {
    while (await handleInbox(opened)) {
      if (opened.batch.isIdle) await new Promise<void>((resolve) => (wake = resolve));
      else await step(opened);
    }
  } finally {
    await opened.close();
  }
}

async function open(setup: EngineSetup): Promise<OpenBatch | undefined> {
  try {
    const opened = await openTextBatch(setup, (run) => runs.push(run));
    runs = [];
    reply({ type: "ready", info: opened.info });
    return opened;
  } catch (thrown) {
    reply({
      type: "open-failed",
      message: messageOf(thrown),
    });
    return undefined;
  }
}

/** False once the engine is to end. Newcomers whose grammars take long come in over several steps. */
async function handleInbox(opened: OpenBatch): Promise<boolean> {
  const endsAt = performance.now() + ADMISSION_MS;
  hearCancels(opened);
  while (performance.now() < endsAt || opened.batch.isIdle) {
    const request = inbox.shift();
    if (request === undefined) return true;
    if (request.type === "close") return false;
    if (request.type === "cancel") opened.batch.cancel(request.id);
    else await add(opened, request);
  }
  return true;
}

/** Also in the middle of a step, when no message is delivered by itself. */
function hearCancels({ batch }: OpenBatch): void {
  for (let next = takeMessage(); next !== undefined; next = takeMessage()) inbox.push(next);
  const cancelled = new Set(
    inbox.flatMap(({ type, ...rest }) => (type === "cancel" && "id" in rest ? rest.id : [])),
  );
  if (cancelled.size === 0) return;
  const left = inbox.filter((request) => request.type === "close" || !cancelled.has(request.id));
  inbox.splice(0, inbox.length, ...left);
  for (const id of cancelled) batch.cancel(id);
}

function takeMessage(): EngineRequest | undefined {
  if (port === null) return undefined;
  // engine.ts sends nothing else.
  const received: { readonly message: EngineRequest } | undefined = receiveMessageOnPort(port);
  return received?.message;
}

async function add(
  opened: OpenBatch,
  { id, job }: Extract<EngineRequest, { type: "generate" }>,
): Promise<void> {
  try {
    opened.batch.add(await opened.createGeneration(id, job));
  } catch (thrown) {
    tell([{ id, failure: toFailure(toJobError(thrown)) }]);
  }
}

async function step(opened: OpenBatch): Promise<void> {
  tell(await opened.batch.step(() => hearCancels(opened)));
  // Cancels and newcomers are heard before the next step.
  await nextTurn();
}

function tell(items: readonly StepItem[]): void {
  reply({ type: "step", items, runs });
  runs = [];
}

function reply(message: EngineReply): void {
  port?.postMessage(message);
}

const DEFAULT_CACHE_BYTES = 4 * 2 ** 30;

interface OpenBatch {
  readonly info: TextModelInfo;
  readonly batch: TextBatch;
  createGeneration(id: number, job: TextJob): Promise<Generation>;
  close(): Promise<void>;
}

/** Opens a package's decoder and tokenizer. Throws an error that names what cannot be used. */
async function openTextBatch(
  setup: EngineSetup,
  onRun: (run: GraphRun) => void,
): Promise<OpenBatch> {
  const { model, threads } = setup;
  const tokenizer = await loadModelTokenizer(model);
  const config = await readDecoderConfig(model, tokenizer);
  const { providers } = model.execution;
  const graphs = await openGraphs({
    graphs: graphPaths(model, [DECODER]),
    threads: threadsFor(model, DECODER, threads),
    providers,
    plans: true,
    keeps: { [DECODER]: cacheBeginnings(config.names) },
  });
  const graph = graphs.info[DECODER];
  if (graph === undefined) throw new Error(`${model.path} has no ${DECODER}`);
  const layout = readDecoderLayout(graph, config.names);
  const decoder = createDecoder({ graphs, layout, firstPosition: config.firstPosition, onRun });
  const vocabSize = layout.vocabSize ?? (await measureVocabulary(decoder));
  const abilities = await findBatchAbilities(decoder, vocabSize);
  const maxCacheBytes = setup.maxCacheBytes ?? DEFAULT_CACHE_BYTES;
  const maxRows = model.execution.concurrency;
  const { promptCacheBytes } = setup;
  const batch = new TextBatch({ decoder, abilities, maxRows, maxCacheBytes, promptCacheBytes });
  const sampler = new TokenSampler(vocabSize);
  const loadMasks = onceLoaded(tokenizer, vocabSize, config);
  return {
    info: {
      vocabSize,
      contextTokens: config.contextTokens,
      alignment: abilities.alignment,
      addedTokens: tokenizer.addedTokens,
    },
    batch,
    createGeneration: (id, job) =>
      createGeneration(id, job, { tokenizer, config, sampler, loadMasks }),
    close: () => graphs.close(),
  };
}

/** Graphs may leave the vocabulary's dimension free: one token tells. */
async function measureVocabulary(decoder: Decoder): Promise<number> {
  const cache = openCache(decoder.graphs, decoder.layout.caches, 1);
  try {
    const input = { cache, tokens: [0], width: 1, alignment: "equal", wantsLogits: true } as const;
    return (await decoder.forward(input)).vocabSize;
  } finally {
    closeCache(decoder.graphs, decoder.layout.caches, cache);
  }
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

// open.ts starts this thread and gives it nothing else.
// oxlint-disable-next-line typescript/no-unsafe-type-assertion
await serve(workerData as EngineSetup);
port.close();
