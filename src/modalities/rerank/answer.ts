import { z } from "zod";
import type { Answer } from "../../core/answer.js";
import type { Exchange } from "../../core/modality.js";
import { type RerankOutput, type RerankRequest, searchUnits } from "./request.js";

/** The answer of `POST /v1/rerank` and `POST /v2/rerank`. */
export const rerankReply = z.object({
  id: z.string(),
  model: z.string(),
  results: z.array(
    z.object({
      index: z.int().describe("place in `documents`"),
      relevance_score: z.number().min(0).max(1),
      document: z.looseObject({ text: z.string() }).optional(),
    }),
  ),
  usage: z.object({ prompt_tokens: z.int(), total_tokens: z.int() }),
  meta: z.object({
    api_version: z.object({ version: z.enum(["1", "2"]) }),
    billed_units: z.object({ search_units: z.int() }),
  }),
});

type RerankReply = z.infer<typeof rerankReply>;

export async function answerRerank(
  exchange: Exchange<RerankRequest, RerankOutput>,
): Promise<Answer> {
  const { output } = await exchange.finished();
  const { totalTokens: tokens, chunks } = output;
  const reply: RerankReply = {
    id: exchange.id,
    model: exchange.model,
    results: rank(exchange.request, output),
    usage: { prompt_tokens: tokens, total_tokens: tokens },
    meta: {
      api_version: { version: exchange.request.apiVersion },
      billed_units: { search_units: searchUnits(chunks) },
    },
  };
  return { json: reply };
}

/** Best first; documents of one score stay in their order. */
export function rank(
  { documents, topN, returnDocuments }: RerankRequest,
  { scores }: RerankOutput,
): RerankReply["results"] {
  const sorted = scores
    .map((score, index) => ({ index, relevance_score: score }))
    .toSorted((a, b) => b.relevance_score - a.relevance_score || a.index - b.index)
    .slice(0, topN ?? documents.length);
  if (!returnDocuments) return sorted;
  return sorted.map((result) => {
    const document = documents[result.index] ?? "";
    const sent = typeof document === "string" ? { text: document } : document;
    return { index: result.index, relevance_score: result.relevance_score, document: sent };
  });
}
