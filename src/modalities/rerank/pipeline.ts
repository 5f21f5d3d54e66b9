import type { PipelineEvent } from "../../core/events.js";
import type { Pipeline, PipelineSetup } from "../../core/modality.js";
import { openModel } from "../../models/registry.js";
import type { JudgeContext, Reranker } from "../../models/reranking/reranker.js";
import { loadModelPackage } from "../../runtime/packages/model-package.js";
import { chunksOf, type RerankOutput, type RerankRequest, textOf } from "./request.js";

/** Pairs of query and document → one score each, from batches shared with the jobs that run beside. */
export async function createRerankPipeline(
  setup: PipelineSetup,
): Promise<Pipeline<RerankRequest, RerankOutput>> {
  const model = await loadModelPackage(setup.modelPath, setup);
  const reranker = await openModel("rerank", model, setup);
  return {
    run: (request, context) => score(reranker, request, context),
    close: () => reranker.close(),
  };
}

async function* score(
  reranker: Reranker,
  { query, documents, maxTokensPerDocument }: RerankRequest,
  context: JudgeContext,
): AsyncGenerator<PipelineEvent<RerankOutput>> {
  const texts = { query, documents: documents.map(textOf), maxTokensPerDocument };
  const judged = await reranker.judge(texts, context);
  const scores = judged.map((one) => one.score);
  const totalTokens = judged.reduce((sum, one) => sum + one.totalTokens, 0);
  const chunks = judged.reduce(
    (sum, { queryTokens, documentTokens }) => sum + chunksOf(queryTokens, documentTokens),
    0,
  );
  yield { type: "output", output: { scores, totalTokens, chunks } };
}
