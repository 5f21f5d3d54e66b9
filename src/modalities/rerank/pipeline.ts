import type { PipelineEvent } from "../../core/events.js";
import type { Pipeline, PipelineSetup } from "../../core/modality.js";
import { sigmoid, softmax } from "../../models/encoder/settings.js";
import { fitPair, type TokenSequence } from "../../models/tokenizer/sequence-tokenizer.js";
import type { TextClassifier } from "../../models/encoder/open.js";
import { openModel } from "../../models/registry.js";
import {
  MOST_CHARACTERS_PER_TOKEN,
  yieldToEventLoop,
} from "../../runtime/batching/yield-to-event-loop.js";
import { loadModelPackage } from "../../runtime/packages/model-package.js";
import { chunksOf, type RerankOutput, type RerankRequest, textOf } from "./request.js";

/** Pairs of query and document → one score each, from batches shared with the jobs that run beside. */
export async function createRerankPipeline(
  setup: PipelineSetup,
): Promise<Pipeline<RerankRequest, RerankOutput>> {
  const model = await loadModelPackage(setup.modelPath, setup);
  const classifier = await openModel("rerank", model, setup);
  const { length: labels } = classifier.labels;
  if (labels > 2) {
    await classifier.close();
    throw new Error(`${model.path}: a reranker has 1 or 2 labels, this one has ${labels}`);
  }
  return {
    run: (request, { signal }) => score(classifier, request, signal),
    close: () => classifier.close(),
  };
}

async function* score(
  classifier: TextClassifier,
  request: RerankRequest,
  signal: AbortSignal,
): AsyncGenerator<PipelineEvent<RerankOutput>> {
  const { pairs, chunks } = await tokenise(classifier, request, signal);
  const rows = await classifier.run(pairs, signal);
  const scores = rows.map(relevanceOf);
  const totalTokens = pairs.reduce((sum, { length }) => sum + length, 0);
  yield { type: "output", output: { scores, totalTokens, chunks } };
}

/** One logit is a sigmoid's; of two the second is "relevant". */
function relevanceOf(logits: Float32Array): number {
  const [first = Number.NaN] = logits;
  return logits.length === 1 ? sigmoid(first) : (softmax(logits)[1] ?? Number.NaN);
}

interface Tokenised {
  readonly pairs: readonly TokenSequence[];
  readonly chunks: number;
}

/** A document is cut to the caller's limit; then the longer of query and document to the model's. */
async function tokenise(
  { tokens, maxTokens }: TextClassifier,
  { query, documents, maxTokensPerDocument }: RerankRequest,
  signal: AbortSignal,
): Promise<Tokenised> {
  const { template, contentOf } = tokens;
  const read = (text: string) => contentOf(text.slice(0, maxTokens * MOST_CHARACTERS_PER_TOKEN));
  const room = maxTokens - template.pairAdded;
  const question = read(query);
  const pairs: TokenSequence[] = [];
  let chunks = 0;
  const pause = yieldToEventLoop(signal);
  for (const document of documents) {
    await pause();
    const content = read(textOf(document)).subarray(0, maxTokensPerDocument);
    const [first, second] = fitPair(question.length, content.length, room);
    pairs.push(template.pair(question.subarray(0, first), content.subarray(0, second)));
    chunks += chunksOf(first, second);
  }
  return { pairs, chunks };
}
