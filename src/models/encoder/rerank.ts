import type { ModelPackage } from "../../runtime/packages/model-package.js";
import {
  MOST_CHARACTERS_PER_TOKEN,
  yieldToEventLoop,
} from "../../runtime/batching/yield-to-event-loop.js";
import { createPairPrompts, readPromptShapes } from "../reranking/qwen3-prompt.js";
import type { RankedTexts, Reranker } from "../reranking/reranker.js";
import { fitPair, type TokenSequence } from "../tokenizer/sequence-tokenizer.js";
import { type EncoderSetup, openTextClassifier, type TextClassifier } from "./open.js";
import { sigmoid, softmax } from "./settings.js";

interface Pair {
  readonly sequence: TokenSequence;
  readonly queryTokens: number;
  readonly documentTokens: number;
}

/** Reads a query once, then its documents. */
type PairReader = (texts: RankedTexts) => (document: string) => Pair;

/** Opens a package of pipeline `encoder` whose graph gives one score a pair, or the logits of no and yes. */
export async function openEncoderReranker(
  model: ModelPackage,
  setup: EncoderSetup,
): Promise<Reranker> {
  const shapes = readPromptShapes(model);
  const classifier = await openTextClassifier(model, setup);
  const { length: labels } = classifier.labels;
  if (labels > 2) {
    await classifier.close();
    throw new Error(`${model.path}: a reranker has 1 or 2 labels, this one has ${labels}`);
  }
  const { tokenizer, contentOf } = classifier.tokens;
  const { maxTokens } = classifier;
  const readPairs =
    shapes.promptForm === undefined
      ? pairReader(classifier)
      : promptReader(createPairPrompts({ tokenizer, contentOf, maxTokens, ...shapes }));
  return {
    async judge(texts, { signal }) {
      const readPair = readPairs(texts);
      const pause = yieldToEventLoop(signal);
      const pairs: Pair[] = [];
      for (const document of texts.documents) {
        await pause();
        pairs.push(readPair(document));
      }
      const rows = await classifier.run(
        pairs.map(({ sequence }) => sequence),
        signal,
      );
      return pairs.map(({ sequence, queryTokens, documentTokens }, at) => {
        const score = relevanceOf(rows[at] ?? new Float32Array(0));
        return { score, queryTokens, documentTokens, totalTokens: sequence.length };
      });
    },
    close: () => classifier.close(),
  };
}

/** One logit is a sigmoid's; of two the second is "relevant". */
function relevanceOf(logits: Float32Array): number {
  const [first = Number.NaN] = logits;
  return logits.length === 1 ? sigmoid(first) : (softmax(logits)[1] ?? Number.NaN);
}

/** A document is cut to the caller's limit; then the longer of query and document to the model's. */
function pairReader({ tokens, maxTokens }: TextClassifier): PairReader {
  const { template, contentOf } = tokens;
  const read = (text: string) => contentOf(text.slice(0, maxTokens * MOST_CHARACTERS_PER_TOKEN));
  const room = maxTokens - template.pairAdded;
  return ({ query, maxTokensPerDocument }) => {
    const question = read(query);
    return (document) => {
      const content = read(document).subarray(0, maxTokensPerDocument);
      const [queryTokens, documentTokens] = fitPair(question.length, content.length, room);
      const sequence = template.pair(
        question.subarray(0, queryTokens),
        content.subarray(0, documentTokens),
      );
      return { sequence, queryTokens, documentTokens };
    };
  };
}

function promptReader(promptsOf: ReturnType<typeof createPairPrompts>): PairReader {
  return ({ query, maxTokensPerDocument }) => {
    const promptOf = promptsOf(query, maxTokensPerDocument);
    return (document) => {
      const { ids, ...counts } = promptOf(document);
      return { sequence: { ids, typeIds: null, length: ids.length }, ...counts };
    };
  };
}
