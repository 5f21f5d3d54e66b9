import { z } from "zod";
import {
  type Evaluate,
  type EvaluationContext,
  mean,
  ofEachKind,
  rankedList,
  readCases,
  rounded,
} from "./evaluator.js";
import { createBm25, isFirst, ndcgAt10 } from "./ranking.js";

const triple = z.object({
  kind: z.string(),
  anchor: z.string(),
  related: z.string(),
  unrelated: z.string(),
});
const output = z.object({ scores: z.array(z.number()) });

/**
 * How well lists of candidates are ranked, beside BM25, which counts rarity over the documents of all
 * lists; how often a related text has the greater score; how often the right passage of an everyday query
 * is first.
 */
export const evaluateRerank: Evaluate = async (context) => {
  const { folder, limit } = context;
  const lists = await readCases([folder, "lists.jsonl"], rankedList);
  const pairs = await readCases([folder, "triples.jsonl"], triple);
  const triples = ofEachKind(pairs, limit, ({ kind }) => kind);
  const some = ofEachKind(lists, limit, ({ kind }) => kind);
  const everyday = await readCases([folder, "everyday.jsonl"], rankedList, limit);
  const score = createScore(context, some.length + triples.length + everyday.length);
  const documents = [...new Set(lists.flatMap((one) => one.documents))];
  const place = new Map(documents.map((document, at) => [document, at]));
  const words = createBm25(documents);
  const ranked: number[] = [];
  const byWords: number[] = [];
  for (const { query, documents: candidates, answer } of some) {
    ranked.push(ndcgAt10(await score(query, candidates), answer));
    const all = words(query);
    const own = candidates.map((document) => all[place.get(document) ?? -1] ?? 0);
    byWords.push(ndcgAt10(own, answer));
  }
  const firsts: number[] = [];
  for (const { anchor, related, unrelated } of triples) {
    const [one = 0, other = 0] = await score(anchor, [related, unrelated]);
    firsts.push(one > other ? 1 : 0);
  }
  const rightFirst: number[] = [];
  for (const { query, documents: candidates, answer } of everyday)
    rightFirst.push(isFirst(await score(query, candidates), answer) ? 1 : 0);
  return {
    ndcg_at_10: rounded(mean(ranked)),
    ndcg_at_10_above_bm25: rounded(mean(ranked) - mean(byWords)),
    related_first: rounded(mean(firsts)),
    everyday: rounded(mean(rightFirst)),
  };
};

type Score = (query: string, documents: readonly string[]) => Promise<readonly number[]>;

function createScore(context: EvaluationContext, all: number): Score {
  let done = 0;
  return async (query, documents) => {
    const made = await context.make({ model: context.model.id, query, documents });
    context.progress((done += 1), all);
    return output.parse(made.output).scores;
  };
}
