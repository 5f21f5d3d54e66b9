import type { GraphRun } from "../../core/modality.js";
import { openGraphs } from "../../runtime/ort/graphs.js";
import { threadsFor } from "../../runtime/packages/graph-threads.js";
import { graphPaths, type ModelPackage } from "../../runtime/packages/model-package.js";
import { loadTextTokenizer, type TextTokenizer } from "../tokenizer/text-tokenizer.js";
import { findBatchAbilities } from "./batch-abilities.js";
import { TextBatch } from "./batch.js";
import { createDecoder, DECODER, type Decoder } from "./decoder.js";
import { type DecoderConfig, readDecoderConfig } from "./decoder-config.js";
import { cacheBeginnings, readDecoderLayout } from "./decoder-layout.js";
import { createGeneration, type Generation } from "./generation.js";
import { closeCache, openCache } from "./kv-cache.js";
import type { EngineSetup, TextJob, TextModelInfo } from "./request/request.js";
import { TokenSampler } from "../sampling/token-sampler.js";
import type { MaskFactory } from "./request/token-mask.js";

const DEFAULT_CACHE_BYTES = 4 * 2 ** 30;

export interface OpenBatch {
  readonly info: TextModelInfo;
  readonly batch: TextBatch;
  createGeneration(id: number, job: TextJob): Promise<Generation>;
  close(): Promise<void>;
}

/** Opens a package's decoder and tokenizer. Throws a sentence that names what cannot be used. */
export async function openTextBatch(
  setup: EngineSetup,
  onRun: (run: GraphRun) => void,
): Promise<OpenBatch> {
  const { model, threads } = setup;
  const tokenizer = await loadTextTokenizer(tokenizerFiles(model));
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

function tokenizerFiles(model: ModelPackage) {
  const paths = graphPaths(
    model,
    ["tokenizer", "tokenizer-config"].filter((role) => model.files[role] !== undefined),
  );
  const { tokenizer, "tokenizer-config": config } = paths;
  if (tokenizer === undefined)
    throw new Error(`${model.path}/model.json has no file for tokenizer`);
  return { tokenizer, config };
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
