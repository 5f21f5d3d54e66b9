import { z } from "zod";
import { defineModality } from "../../core/modality.js";
import {
  type GenerationDelta,
  generationDelta,
  type GenerationOutput,
  generationOutput,
} from "../../models/decoder/request/generation-request.js";
import { countTokens, mostTokens, promptTexts } from "../shared/generation-body.js";
import { answerResponses, responseEvents } from "./answer.js";
import {
  inputItemObject,
  listInputItems,
  renderResponse,
  responseEvent,
  responseObject,
} from "./response-object.js";
import {
  backgroundUse,
  responsesRequest,
  parseResponsesBody,
  responsesBody,
  type ResponsesRequest,
} from "./request.js";

export const responses = defineModality<
  "responses",
  ResponsesRequest,
  GenerationOutput,
  GenerationDelta
>({
  name: "responses",
  endpoint: {
    path: "/v1/responses",
    delivery: "reply",
    object: "response",
    idPrefix: "resp_",
    variants: [],
    promptParam: "input",
    isResource: true,
  },
  modelsOf: "chat",
  example: () => ({ input: "Once upon a time", max_output_tokens: 8 }),
  schemas: { request: responsesRequest, output: generationOutput, delta: generationDelta },
  requestSchema: () => z.toJSONSchema(responsesBody, { io: "input", unrepresentable: "any" }),
  responseSchema: () => z.toJSONSchema(responseObject),
  eventSchema: () => z.toJSONSchema(responseEvent),
  admit: parseResponsesBody,
  prices: { inputTokens: 0.15, outputTokens: 0.6 },
  mostUnits: mostTokens,
  countUnits: countTokens,
  promptsOf: promptTexts,
  answer: answerResponses,
  render: renderResponse,
  isStored: ({ isStored }) => isStored,
  background: backgroundUse,
  events: responseEvents,
  inputItems: { schema: () => z.toJSONSchema(inputItemObject), list: listInputItems },
  loadPipeline: async () => {
    // Models belong to the chat modality, and so does the pipeline that runs them.
    throw new Error("responses run in the pipeline of chat models");
  },
});
