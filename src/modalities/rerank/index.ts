import { z } from "zod";
import { defineModality, type ModelInfo } from "../../core/modality.js";
import { answerRerank, rerankReply } from "./answer.js";
import {
  chunksOf,
  parseRerankBody,
  rerankBody,
  rerankOutput,
  type RerankOutput,
  rerankRequest,
  type RerankRequest,
  searchUnits,
  textOf,
} from "./request.js";

export const rerank = defineModality<"rerank", RerankRequest, RerankOutput>({
  name: "rerank",
  endpoint: {
    path: "/v1/rerank",
    aliases: ["/v2/rerank"],
    delivery: "reply",
    object: "rerank",
    idPrefix: "rerank_",
    variants: [],
    ignores: ["truncate_prompt_tokens"],
  },
  example: () => ({ query: "a boat", documents: ["a red boat on a lake", "a bowl of soup"] }),
  schemas: { request: rerankRequest, output: rerankOutput },
  requestSchema: () => z.toJSONSchema(rerankBody, { io: "input", unrepresentable: "any" }),
  responseSchema: () => z.toJSONSchema(rerankReply),
  admit: async (body, { path }) => parseRerankBody(body, path),
  prices: { searches: 2_000 },
  mostUnits: (request, model) => ({ searches: searchUnits(mostChunks(request, model)) }),
  countUnits: (_request, { chunks }) => ({ searches: searchUnits(chunks) }),
  answer: answerRerank,
  loadPipeline: async () => (await import("./pipeline.js")).createRerankPipeline,
});

/** As if every byte were a token, within what the model reads. */
function mostChunks(
  { query, documents, maxTokensPerDocument }: RerankRequest,
  { contextTokens = Infinity }: ModelInfo,
): number {
  const queryTokens = Math.min(Buffer.byteLength(query), contextTokens);
  return documents.reduce((sum, document) => {
    const tokens = Math.min(Buffer.byteLength(textOf(document)), maxTokensPerDocument);
    return sum + chunksOf(0, Math.min(queryTokens + tokens, contextTokens));
  }, 0);
}
