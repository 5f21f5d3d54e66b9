import { z } from "zod";
import { defineModality } from "../../core/modality.js";
import {
  type GenerationDelta,
  generationDelta,
  type GenerationOutput,
  generationOutput,
} from "../../models/decoder/request/generation-request.js";
import { countTokens, mostTokens, promptTexts } from "../shared/generation-body.js";
import { answerChat, chatChunk, chatCompletion } from "./answer.js";
import { chatRequest, chatBody, type ChatRequest, parseChatBody } from "./request.js";

export const chat = defineModality<"chat", ChatRequest, GenerationOutput, GenerationDelta>({
  name: "chat",
  endpoint: {
    path: "/v1/chat/completions",
    delivery: "reply",
    object: "chat.completion",
    idPrefix: "chatcmpl-",
    variants: [],
    promptParam: "messages",
    ignores: ["add_special_tokens", "skip_special_tokens", "spaces_between_special_tokens"],
  },
  example: () => ({ messages: [{ role: "user", content: "Once upon a time" }], max_tokens: 8 }),
  schemas: { request: chatRequest, output: generationOutput, delta: generationDelta },
  requestSchema: () => z.toJSONSchema(chatBody, { io: "input", unrepresentable: "any" }),
  responseSchema: () => z.toJSONSchema(chatCompletion),
  eventSchema: () => z.toJSONSchema(chatChunk),
  admit: (body, { model }) => parseChatBody(body, model),
  prices: { inputTokens: 0.15, outputTokens: 0.6 },
  mostUnits: mostTokens,
  countUnits: countTokens,
  promptsOf: promptTexts,
  answer: answerChat,
  loadPipeline: async () => (await import("./pipeline.js")).createChatPipeline,
});
