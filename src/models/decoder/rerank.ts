import type { PipelineSetup } from "../../core/modality.js";
import { startEach } from "../../runtime/batching/yield-to-event-loop.js";
import type { ModelPackage } from "../../runtime/packages/model-package.js";
import { softmax } from "../encoder/settings.js";
import { createPairPrompts, readPromptShapes } from "../reranking/qwen3-prompt.js";
import type { Reranker } from "../reranking/reranker.js";
import { cacheWords } from "../tokenizer/word-cache.js";
import { openReadingEngine, tokenOf } from "./open.js";

/** Opens a causal language model that says by its next token, `yes` or `no`, whether a document answers a query. */
export async function openDecoderReranker(
  model: ModelPackage,
  setup: PipelineSetup,
): Promise<Reranker> {
  const { instruction } = readPromptShapes(model);
  const engine = await openReadingEngine(model, { ...setup, writes: false });
  const { tokenizer, info } = engine;
  const contentOf = cacheWords(
    tokenizer.json,
    (text) => tokenizer.encode(text, { addSpecialTokens: false }).ids,
  );
  const maxTokens = info.contextTokens;
  const promptsOf = createPairPrompts({ tokenizer, contentOf, maxTokens, instruction });
  const tokenIds = ["no", "yes"].map((word) => tokenOf(tokenizer, word));
  return {
    async judge({ query, documents, maxTokensPerDocument }, { signal, tenant: cacheScope }) {
      const promptOf = promptsOf(query, maxTokensPerDocument);
      return await startEach(documents, signal, async (document) => {
        const { ids, ...counts } = promptOf(document);
        const reading = { promptTokens: [...ids], tokenIds, cacheScope };
        const score = softmax(await engine.logitsAfter(reading, signal))[1] ?? Number.NaN;
        return { ...counts, totalTokens: ids.length, score };
      });
    },
    close: () => engine.close(),
  };
}
