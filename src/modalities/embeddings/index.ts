import { z } from "zod";
import { defineModality } from "../../core/modality.js";
import { answerEmbeddings, embeddingsReply } from "./answer.js";
import {
  embeddingsOutput,
  embeddingsRequest,
  type EmbeddingsOutput,
  type EmbeddingsRequest,
  embeddingsBody,
  parseEmbeddingsBody,
} from "./request.js";

export const embeddings = defineModality<"embeddings", EmbeddingsRequest, EmbeddingsOutput>({
  name: "embeddings",
  endpoint: {
    path: "/v1/embeddings",
    delivery: "reply",
    object: "embedding",
    idPrefix: "embd_",
    variants: [],
    ignores: ["truncate_prompt_tokens"],
    // 300 000 tokens, as OpenAI has it, in up to 2 048 lists.
    maxBodyValues: 310_000,
  },
  example: () => ({ input: "a red boat on a calm lake" }),
  schemas: { request: embeddingsRequest, output: embeddingsOutput },
  requestSchema: () => z.toJSONSchema(embeddingsBody, { io: "input", unrepresentable: "any" }),
  responseSchema: () => z.toJSONSchema(embeddingsReply),
  admit: async (body, { model }) => parseEmbeddingsBody(body, model),
  prices: { inputTokens: 0.02 },
  mostUnits: ({ inputs, prompt = "" }) => ({
    inputTokens: inputs.reduce((sum, input) => sum + mostTokens(input, prompt), 0),
  }),
  countUnits: (_request, { inputTokens }) => ({ inputTokens }),
  answer: answerEmbeddings,
  loadPipeline: async () => (await import("./pipeline.js")).createEmbeddingsPipeline,
});

/** A token has at least one byte; two more are the model's own. */
function mostTokens(input: string | readonly number[], prompt: string): number {
  if (typeof input !== "string") return input.length + 2;
  const text = prompt + input;
  // Tokenizers may unfold a character (U+FDFA is one of three bytes) before they count.
  return Math.max(Buffer.byteLength(text), Buffer.byteLength(text.normalize("NFKC"))) + 2;
}
