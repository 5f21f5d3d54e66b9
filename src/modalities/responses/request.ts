import { z } from "zod";
import type { AdmitContext, BackgroundUse } from "../../core/modality.js";
import {
  type AnswerFormat,
  type ConversationMessage,
  generationRequest,
  type ToolChoice,
} from "../../models/decoder/request/generation-request.js";
import {
  boundedInteger,
  checkPromptLength,
  checkSchemas,
  checkTools,
  functionFields,
  jsonSchema,
  lengthFields,
  lengthOf,
  MAX_MESSAGES,
  MAX_WORDS,
  reasoningEffort,
  schemaFormatFields,
  sharedFields,
  sharedRequest,
  toFunctionTool,
  toolChoiceWord,
  toolList,
  toolType,
  toSchemaFormat,
} from "../shared/generation-body.js";
import { atMost, invalidValue, parseBody } from "../shared/request-body.js";
import {
  continueConversation,
  findConversation,
  inputItem,
  resolveReferences,
} from "./conversation.js";

const LOGPROBS = "message.output_text.logprobs";

const textFormat = z.discriminatedUnion(
  "type",
  [
    z.strictObject({ type: z.literal("text") }),
    z.strictObject({ type: z.literal("json_object") }),
    z.strictObject({ type: z.literal("json_schema"), ...schemaFormatFields, schema: jsonSchema }),
  ],
  { error: "must have the type text, json_object or json_schema" },
);

/** Body of `POST /v1/responses`. */
export const responsesBody = z.strictObject({
  ...sharedFields,
  ...lengthFields,
  input: atMost(
    MAX_MESSAGES,
    "items",
    z.union([z.string().min(1, "must not be empty"), z.array(inputItem).min(1).max(MAX_MESSAGES)], {
      error: "must be a string or an array of items",
    }),
  ),
  instructions: z.string({ error: "must be a string" }).nullish(),
  previous_response_id: z.string({ error: "must be a string" }).nullish(),
  max_output_tokens: boundedInteger(1, 1_000_000),
  truncation: z.enum(["auto", "disabled"], { error: "must be auto or disabled" }).nullish(),
  include: atMost(MAX_WORDS, "words", z.array(z.string()).max(MAX_WORDS)).nullish(),
  text: z
    .strictObject({ format: textFormat.optional(), verbosity: z.unknown().optional() })
    .nullish(),
  tools: toolList(z.strictObject({ type: toolType, ...functionFields })),
  tool_choice: z
    .union([toolChoiceWord, z.strictObject({ type: toolType, name: z.string() })], {
      error: "must be none, auto, required or a function",
    })
    .nullish(),
  stream_options: z
    .strictObject({
      include_obfuscation: z.unknown().optional(),
      // AIPerf asks as it asks chat; the last event has it always.
      include_usage: z.unknown().optional(),
    })
    .nullish(),
  background: z.boolean({ error: "must be true or false" }).nullish(),
  reasoning: z
    .object({ effort: reasoningEffort.nullish() }, { error: "must be an object" })
    .nullish(),
});

type ResponsesBody = z.infer<typeof responsesBody>;

export const responsesRequest = generationRequest.extend({
  /** The first message, where given; the conversation that a later response continues has none. */
  instructions: z.string().nullable(),
  previousResponseId: z.string().nullable(),
  isStored: z.boolean(),
  /** As it was asked for; not where absent. */
  reasoningEffort: reasoningEffort.exactOptional(),
  /** Whether it goes on without its caller; not where absent. */
  isBackground: z.boolean().exactOptional(),
});
export type ResponsesRequest = z.infer<typeof responsesRequest>;

/** The parsed body with its defaults, after the conversation that it continues. */
export async function parseResponsesBody(
  value: unknown,
  context: Pick<AdmitContext, "findEarlier" | "model">,
): Promise<ResponsesRequest> {
  const body = parseBody(responsesBody, value);
  checkBackground(body);
  const previous = body.previous_response_id ?? null;
  const earlier = previous === null ? [] : await findConversation(previous, context);
  const input = await resolveReferences(body.input, context);
  const instructions = body.instructions ?? null;
  const effort = body.reasoning?.effort;
  const system: ConversationMessage[] =
    instructions === null ? [] : [{ role: "system", content: instructions }];
  const request = {
    ...sharedRequest(body, { effort }),
    messages: [...system, ...continueConversation(earlier, input)],
    promptParam: "input",
    tools: (body.tools ?? []).map(toFunctionTool),
    toolChoice: toolChoice(body),
    format: answerFormat(body),
    maxTokens: body.max_output_tokens ?? null,
    n: 1,
    ...lengthOf(body),
    frequencyPenalty: 0,
    presencePenalty: 0,
    stop: [],
    logitBias: {},
    logprobs: logprobs(body),
    truncate: body.truncation === "auto",
    instructions,
    previousResponseId: previous,
    isStored: body.store ?? true,
    ...(effort && { reasoningEffort: effort }),
    ...(body.background === true && { isBackground: true }),
  };
  checkPromptLength(request, context.model, "input");
  checkTools(request.tools, request.toolChoice);
  await checkSchemas(request, "text.format");
  return request;
}

/** Nobody waits for the answer: it is read, or its events followed, until it is deleted. */
export function backgroundUse(body: unknown): BackgroundUse | undefined {
  if (typeof body !== "object" || body === null || !("background" in body)) return undefined;
  if (body.background !== true) return undefined;
  return "stream" in body && body.stream === true ? "follow" : "read";
}

function checkBackground({ background, store }: ResponsesBody): void {
  if (background !== true || store !== false) return;
  throw invalidValue("background", "background needs store: what is not kept cannot be read");
}

function toolChoice({ tool_choice: choice, tools }: ResponsesBody): ToolChoice {
  if (choice === null || choice === undefined) return tools?.length ? "auto" : "none";
  return typeof choice === "string" ? choice : { name: choice.name };
}

function answerFormat({ text }: ResponsesBody): AnswerFormat {
  const format = text?.format ?? { type: "text" };
  return format.type === "json_schema" ? toSchemaFormat(format) : format;
}

function logprobs({ include, top_logprobs: top }: ResponsesBody): number | null {
  const unknown = include?.find((name) => name !== LOGPROBS && !name.startsWith("reasoning."));
  if (unknown !== undefined) {
    const message = `include must be ${LOGPROBS}, got ${JSON.stringify(unknown.slice(0, 60))}`;
    throw invalidValue("include", message);
  }
  const isWanted = include?.includes(LOGPROBS) ?? false;
  return isWanted ? (top ?? 0) : (top ?? null);
}
