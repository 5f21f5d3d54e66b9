import { z } from "zod";
import type { ModelInfo } from "../../core/modality.js";
import {
  type AnswerFormat,
  type ConversationMessage,
  generationRequest,
  type ToolChoice,
} from "../../models/decoder/request/generation-request.js";
import { completionFields, completionRequest, streamFields } from "../shared/completion-body.js";
import {
  boundedInteger,
  checkPromptLength,
  checkSchemas,
  checkTools,
  functionFields,
  jsonSchema,
  MAX_MESSAGES,
  MAX_WORDS,
  MOST_TOKENS,
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
import { atMost, invalidValue, parseBody, textContent, textOf } from "../shared/request-body.js";

/** Calls of one message. */
const MAX_CALLS = 128;

const toolCall = z.object({
  id: z.string().min(1).max(128),
  type: toolType,
  function: z.object({ name: functionFields.name, arguments: z.string() }),
});

const written = { content: textContent, name: z.string().optional() };

const chatMessage = z.discriminatedUnion(
  "role",
  [
    z.object({ role: z.literal("system"), ...written }),
    z.object({ role: z.literal("developer"), ...written }),
    z.object({ role: z.literal("user"), ...written }),
    z.object({
      role: z.literal("assistant"),
      content: textContent.nullish(),
      reasoning_content: z.string().nullish().describe("What it thought before"),
      name: z.string().optional(),
      refusal: z.string().nullish(),
      tool_calls: atMost(MAX_CALLS, "calls", z.array(toolCall).max(MAX_CALLS)).nullish(),
    }),
    z.object({ role: z.literal("tool"), content: textContent, tool_call_id: z.string().min(1) }),
  ],
  { error: "must be a message of the role system, developer, user, assistant or tool" },
);

const responseFormat = z.discriminatedUnion(
  "type",
  [
    z.strictObject({ type: z.literal("text") }),
    z.strictObject({ type: z.literal("json_object") }),
    z.strictObject({
      type: z.literal("json_schema"),
      json_schema: z.strictObject({ ...schemaFormatFields, schema: jsonSchema.optional() }),
    }),
  ],
  { error: "must have the type text, json_object or json_schema" },
);

/** Body of `POST /v1/chat/completions`. */
export const chatBody = z.strictObject({
  ...sharedFields,
  messages: atMost(
    MAX_MESSAGES,
    "messages",
    z
      .array(chatMessage, { error: "must be an array of messages" })
      .min(1, "must have at least one message")
      .max(MAX_MESSAGES),
  ),
  ...completionFields,
  max_completion_tokens: boundedInteger(1, MOST_TOKENS),
  logprobs: z.boolean({ error: "must be true or false" }).nullish(),
  tools: toolList(z.strictObject({ type: toolType, function: z.strictObject(functionFields) })),
  tool_choice: z
    .union(
      [
        toolChoiceWord,
        z.strictObject({ type: toolType, function: z.object({ name: z.string() }) }),
      ],
      { error: "must be none, auto, required or a function" },
    )
    .nullish(),
  response_format: responseFormat.nullish(),
  modalities: atMost(
    MAX_WORDS,
    "words",
    z.array(z.literal("text", { error: "must be text" })).max(MAX_WORDS),
  ).nullish(),
  reasoning_effort: reasoningEffort.nullish(),
  verbosity: z.unknown().optional(),
});

type ChatBody = z.infer<typeof chatBody>;

export const chatRequest = generationRequest.extend(streamFields);
export type ChatRequest = z.infer<typeof chatRequest>;

/** The parsed body with its defaults; contradictions and schemas that cannot be held are refused. */
export async function parseChatBody(value: unknown, model: ModelInfo): Promise<ChatRequest> {
  const body = parseBody(chatBody, value);
  checkToolMessages(body.messages);
  const request = {
    ...sharedRequest(body, { seed: body.seed, effort: body.reasoning_effort }),
    ...completionRequest(body),
    messages: body.messages.map(toMessage),
    tools: (body.tools ?? []).map((tool) => toFunctionTool(tool.function)),
    toolChoice: toolChoice(body),
    format: answerFormat(body.response_format),
    maxTokens: maxTokens(body),
    logprobs: logprobs(body),
    truncate: false,
  };
  checkPromptLength(request, model, "messages");
  checkTools(request.tools, request.toolChoice);
  await checkSchemas(request, "response_format");
  return request;
}

function toMessage(body: ChatBody["messages"][number]): ConversationMessage {
  const content = textOf(body.content);
  if (body.role === "tool") return { role: "tool", content, toolCallId: body.tool_call_id };
  const name = body.name === undefined ? {} : { name: body.name };
  if (body.role !== "assistant") return { role: body.role, content, ...name };
  const calls = body.tool_calls?.map((call) => ({ id: call.id, ...call.function })) ?? [];
  const { reasoning_content: reasoning } = body;
  const thoughts = reasoning ? { reasoning } : {};
  return {
    role: "assistant",
    content,
    ...name,
    ...thoughts,
    ...(calls.length > 0 && { toolCalls: calls }),
  };
}

/** A tool's message answers a call that an earlier message made. */
function checkToolMessages(messages: ChatBody["messages"]): void {
  const calls = new Set<string>();
  for (const [index, body] of messages.entries()) {
    if (body.role === "assistant") for (const { id } of body.tool_calls ?? []) calls.add(id);
    if (body.role !== "tool" || calls.has(body.tool_call_id)) continue;
    const param = `messages.${index}.tool_call_id`;
    throw invalidValue(param, `${param} must be the id of an earlier tool call`);
  }
}

function toolChoice({ tool_choice: choice, tools }: ChatBody): ToolChoice {
  if (choice === null || choice === undefined) return tools?.length ? "auto" : "none";
  return typeof choice === "string" ? choice : { name: choice.function.name };
}

function answerFormat(format: ChatBody["response_format"]): AnswerFormat {
  if (format?.type !== "json_schema") return format ?? { type: "text" };
  return toSchemaFormat(format.json_schema);
}

function maxTokens({ max_tokens: old, max_completion_tokens: current }: ChatBody): number | null {
  if (typeof old === "number" && typeof current === "number" && old !== current) {
    const message = `max_tokens and max_completion_tokens are the same limit: got ${old} and ${current}`;
    throw invalidValue("max_tokens", message);
  }
  return current ?? old ?? null;
}

function logprobs({ logprobs: isAsked, top_logprobs: top }: ChatBody): number | null {
  if (isAsked) return top ?? 0;
  if (typeof top !== "number") return null;
  throw invalidValue("top_logprobs", "top_logprobs needs logprobs to be true");
}
