import { z } from "zod";
import { defineModality } from "../../core/modality.js";
import {
  type GenerationDelta,
  generationDelta,
  type GenerationOutput,
  generationOutput,
} from "../../models/decoder/request/generation-request.js";
import { type TextCompletionRequest, textCompletionRequest } from "../shared/completion-body.js";
import { countTokens, mostTokens } from "../shared/generation-body.js";
import { invalidValue } from "../shared/request-body.js";
import { answerCompletion, textCompletion } from "./answer.js";
import { completionsBody, parseCompletionsBody } from "./request.js";

export const completions = defineModality<
  "completions",
  TextCompletionRequest,
  GenerationOutput,
  GenerationDelta
>({
  name: "completions",
  endpoint: {
    path: "/v1/completions",
    delivery: "reply",
    object: "text_completion",
    idPrefix: "cmpl-",
    variants: [],
    // Lists of token ids.
    maxBodyValues: 310_000,
    ignores: ["spaces_between_special_tokens"],
  },
  modelsOf: "chat",
  example: () => ({ prompt: "Once upon a time", max_tokens: 8 }),
  schemas: { request: textCompletionRequest, output: generationOutput, delta: generationDelta },
  requestSchema: () => z.toJSONSchema(completionsBody, { io: "input", unrepresentable: "any" }),
  responseSchema: () => z.toJSONSchema(textCompletion),
  eventSchema: () => z.toJSONSchema(textCompletion),
  admit: async (body, { model }) => parseCompletionsBody(body, model),
  prices: { inputTokens: 0.15, outputTokens: 0.6 },
  mostUnits: (request, model) => mostTokens(request, model, request.prompts.length),
  countUnits: countTokens,
  promptsOf: ({ prompts }) => prompts.map(toText),
  answer: answerCompletion,
  loadPipeline: async () => {
    // Models belong to the chat modality, and so does the pipeline that runs them.
    throw new Error("text completions run in the pipeline of chat models");
  },
});

function toText(prompt: string | readonly number[]): string {
  if (typeof prompt === "string") return prompt;
  const message = "prompt must be text: prompts are judged here, and token ids cannot be";
  throw invalidValue("prompt", message);
}
