import { z } from "zod";
import type { JobFailure } from "../../core/job.js";
import type { JobView } from "../../core/modality.js";
import type { ServiceTier } from "../../core/service-tier.js";
import type {
  AnswerPart,
  ConversationMessage,
  GenerationChoice,
  GenerationOutput,
  ToolCall,
} from "../../models/decoder/request/generation-request.js";
import { type PublicLogprob, tokenLogprob, tokenLogprobs } from "../shared/generation-answer.js";
import { reasoningEffort } from "../shared/generation-body.js";
import { serviceTierField } from "../shared/job-object.js";
import { inputItemId, type ItemKind, outputItemId } from "./conversation.js";
import type { ResponsesRequest } from "./request.js";

const logprobList = z.array(tokenLogprob);

const outputTextPart = z
  .object({
    type: z.literal("output_text"),
    text: z.string(),
    annotations: z.array(z.never()),
    logprobs: logprobList,
  })
  .meta({ id: "ResponseOutputText" });

const itemStatus = z.enum(["in_progress", "completed", "incomplete"]);

const outputMessage = z
  .object({
    id: z.string(),
    type: z.literal("message"),
    status: itemStatus,
    role: z.literal("assistant"),
    content: z.array(outputTextPart),
  })
  .meta({ id: "ResponseMessage" });

const outputCall = z
  .object({
    id: z.string(),
    type: z.literal("function_call"),
    status: itemStatus,
    call_id: z.string(),
    name: z.string(),
    arguments: z.string(),
  })
  .meta({ id: "ResponseFunctionCall" });

const reasoningTextPart = z
  .object({ type: z.literal("reasoning_text"), text: z.string() })
  .meta({ id: "ResponseReasoningText" });

const outputReasoning = z
  .object({
    id: z.string(),
    type: z.literal("reasoning"),
    status: itemStatus,
    summary: z.array(z.never()),
    content: z.array(reasoningTextPart),
  })
  .meta({ id: "ResponseReasoning" });

const contentPart = z.discriminatedUnion("type", [outputTextPart, reasoningTextPart]);

const outputItem = z
  .discriminatedUnion("type", [outputMessage, outputCall, outputReasoning])
  .meta({ id: "ResponseOutputItem" });

/** An item of what a response was asked. */
export const inputItemObject = z
  .discriminatedUnion("type", [
    z.discriminatedUnion("role", [
      outputMessage,
      z
        .object({
          id: z.string(),
          type: z.literal("message"),
          status: itemStatus,
          role: z.enum(["user", "system", "developer"]),
          content: z.array(z.object({ type: z.literal("input_text"), text: z.string() })),
        })
        .meta({ id: "ResponseInputMessage" }),
    ]),
    outputCall,
    outputReasoning,
    z
      .object({
        id: z.string(),
        type: z.literal("function_call_output"),
        status: itemStatus,
        call_id: z.string(),
        output: z.string(),
      })
      .meta({ id: "ResponseFunctionCallOutput" }),
  ])
  .meta({ id: "ResponseInputItem" });

type OutputItem = z.infer<typeof outputItem>;
export type ItemStatus = OutputItem["status"];

const anyObject = z.record(z.string(), z.unknown());

/** The public response object. */
export const responseObject = z
  .object({
    id: z.string().describe("resp_ and 32 hexadecimal digits"),
    object: z.literal("response"),
    created_at: z.int().describe("Unix time in seconds"),
    completed_at: z.int().nullable(),
    status: z.enum(["queued", "in_progress", "completed", "failed", "incomplete", "cancelled"]),
    background: z.boolean(),
    error: z.object({ code: z.string(), message: z.string() }).nullable(),
    incomplete_details: z.object({ reason: z.literal("max_output_tokens") }).nullable(),
    instructions: z.string().nullable(),
    max_output_tokens: z.int().nullable(),
    metadata: z.record(z.string(), z.string()),
    model: z.string(),
    output: z.array(outputItem),
    parallel_tool_calls: z.boolean(),
    previous_response_id: z.string().nullable(),
    reasoning: z.object({ effort: reasoningEffort.nullable(), summary: z.null() }),
    service_tier: serviceTierField,
    store: z.boolean(),
    temperature: z.number(),
    text: z.object({ format: anyObject }),
    tool_choice: z.union([z.string(), anyObject]),
    tools: z.array(anyObject),
    top_logprobs: z.int(),
    top_p: z.number(),
    truncation: z.enum(["auto", "disabled"]),
    usage: z
      .object({
        input_tokens: z.int(),
        input_tokens_details: z.object({ cached_tokens: z.int() }),
        output_tokens: z.int(),
        output_tokens_details: z.object({ reasoning_tokens: z.int() }),
        total_tokens: z.int(),
      })
      .nullable(),
    user: z.null(),
  })
  .meta({ id: "ResponseObject" });

type ResponseObject = z.infer<typeof responseObject>;

const textPlace = { item_id: z.string(), output_index: z.int(), content_index: z.int() };
const callPlace = { item_id: z.string(), output_index: z.int() };

/** An event of one type with its place in the stream. */
function eventOf<const Type extends string, Fields extends z.core.$ZodLooseShape>(
  type: Type,
  fields: Fields,
) {
  const words = type.split(/[._]/).map((word) => word.charAt(0).toUpperCase() + word.slice(1));
  return z
    .object({ type: z.literal(type), sequence_number: z.int(), ...fields })
    .meta({ id: `${words.join("")}Event` });
}

/** Data of an event, where the answer streams. */
export const responseEvent = z.discriminatedUnion("type", [
  eventOf("response.created", { response: responseObject }),
  eventOf("response.queued", { response: responseObject }),
  eventOf("response.in_progress", { response: responseObject }),
  eventOf("response.completed", { response: responseObject }),
  eventOf("response.incomplete", { response: responseObject }),
  eventOf("response.failed", { response: responseObject }),
  eventOf("response.output_item.added", { output_index: z.int(), item: outputItem }),
  eventOf("response.output_item.done", { output_index: z.int(), item: outputItem }),
  eventOf("response.content_part.added", { ...textPlace, part: contentPart }),
  eventOf("response.content_part.done", { ...textPlace, part: contentPart }),
  eventOf("response.reasoning_text.delta", { ...textPlace, delta: z.string() }),
  eventOf("response.reasoning_text.done", { ...textPlace, text: z.string() }),
  eventOf("response.output_text.delta", { ...textPlace, delta: z.string(), logprobs: logprobList }),
  eventOf("response.output_text.done", { ...textPlace, text: z.string(), logprobs: logprobList }),
  eventOf("response.function_call_arguments.delta", { ...callPlace, delta: z.string() }),
  eventOf("response.function_call_arguments.done", {
    ...callPlace,
    name: z.string(),
    arguments: z.string(),
  }),
]);

export type ResponseEvent = z.infer<typeof responseEvent>;

/** What a response is made of, whether it is being answered or read afterwards. */
export interface ResponseState {
  readonly id: string;
  readonly model: string;
  readonly serviceTier: ServiceTier;
  readonly request: ResponsesRequest;
  readonly createdAtMs: number;
  readonly completedAtMs: number | null;
  readonly status: "queued" | "in_progress" | "completed" | "failed";
  readonly output: GenerationOutput | null;
  readonly failure: JobFailure | null;
}

export function renderResponse(job: JobView<ResponsesRequest, GenerationOutput>): ResponseObject {
  return toResponse({ ...job, status: job.state });
}

export function toResponse(state: ResponseState): ResponseObject {
  const { id, model, serviceTier, request, output, failure } = state;
  const choice = output?.choices[0];
  const isCut = choice?.finishReason === "length";
  return {
    id,
    object: "response",
    created_at: toUnixSeconds(state.createdAtMs),
    completed_at: state.completedAtMs === null ? null : toUnixSeconds(state.completedAtMs),
    status: publicStatus(state, isCut),
    background: request.isBackground === true,
    error: failure && { code: failure.code, message: failure.message },
    incomplete_details: isCut ? { reason: "max_output_tokens" } : null,
    ...echo(request),
    model,
    output: choice ? outputItems(id, choice) : [],
    service_tier: serviceTier,
    usage: output && toUsage(output),
    user: null,
  };
}

function publicStatus({ status, failure }: ResponseState, isCut: boolean) {
  if (failure?.code === "cancelled") return "cancelled";
  return status === "completed" && isCut ? "incomplete" : status;
}

/** What the request asked for, in its own words. */
function echo(request: ResponsesRequest) {
  const { toolChoice, format } = request;
  return {
    instructions: request.instructions,
    max_output_tokens: request.maxTokens,
    metadata: { ...request.metadata },
    parallel_tool_calls: request.parallelToolCalls,
    previous_response_id: request.previousResponseId,
    reasoning: { effort: request.reasoningEffort ?? null, summary: null },
    store: request.isStored,
    temperature: request.temperature,
    text: { format: { ...format } },
    tool_choice:
      typeof toolChoice === "string" ? toolChoice : { type: "function", name: toolChoice.name },
    tools: request.tools.map((tool) => ({ type: "function", ...tool })),
    top_logprobs: request.logprobs ?? 0,
    top_p: request.topP,
    truncation: request.truncate ? ("auto" as const) : ("disabled" as const),
  };
}

function toUnixSeconds(unixMs: number): number {
  return Math.floor(unixMs / 1_000);
}

function toUsage({ usage }: GenerationOutput) {
  const { promptTokens, completionTokens, cachedTokens, reasoningTokens } = usage;
  return {
    input_tokens: promptTokens,
    input_tokens_details: { cached_tokens: cachedTokens ?? 0 },
    output_tokens: completionTokens,
    output_tokens_details: { reasoning_tokens: reasoningTokens ?? 0 },
    total_tokens: promptTokens + completionTokens,
  };
}

/** Probabilities go with the first text. */
function outputItems(
  id: string,
  { parts, finishReason, logprobs }: GenerationChoice,
): OutputItem[] {
  const firstText = parts.findIndex(({ type }) => type === "text");
  const shown: readonly AnswerPart[] = parts.length > 0 ? parts : [{ type: "text", text: "" }];
  return shown.map((part, index) => {
    const isLast = index === shown.length - 1;
    const status = isLast && finishReason === "length" ? "incomplete" : "completed";
    if (part.type === "call") return callItem(id, index, { ...part.call, status });
    if (part.type === "reasoning")
      return reasoningItem(id, index, { content: [reasoningText(part.text)], status });
    const shownLogprobs = index === firstText ? tokenLogprobs(logprobs ?? []) : [];
    return messageItem(id, index, { content: [outputText(part.text, shownLogprobs)], status });
  });
}

type MessageItem = Extract<OutputItem, { type: "message" }>;
type CallItem = Extract<OutputItem, { type: "function_call" }>;
type ReasoningItem = Extract<OutputItem, { type: "reasoning" }>;
type OutputText = MessageItem["content"][number];

export function outputText(text: string, logprobs: PublicLogprob[] = []): OutputText {
  return {
    type: "output_text",
    text,
    annotations: [],
    logprobs,
  };
}

export function reasoningText(text: string): ReasoningItem["content"][number] {
  return { type: "reasoning_text", text };
}

type InputItemObject = z.infer<typeof inputItemObject>;

/** What the model read, without the instructions; each item has a number within its response. */
export function listInputItems(request: ResponsesRequest, responseId: string): InputItemObject[] {
  const said = request.instructions === null ? request.messages : request.messages.slice(1);
  let place = 0;
  const nextId = (kind: ItemKind): string => {
    const id = inputItemId(kind, responseId, place);
    place += 1;
    return id;
  };
  return said.flatMap((message) => toInputItems(message, nextId));
}

function toInputItems(
  message: ConversationMessage,
  nextId: (kind: ItemKind) => string,
): InputItemObject[] {
  const status = "completed" as const;
  const { role, content } = message;
  if (role === "tool") {
    const { toolCallId: call } = message;
    return [
      { id: nextId("fc"), type: "function_call_output", call_id: call, output: content, status },
    ];
  }
  const own = () => ({ id: nextId("msg"), type: "message", status }) as const;
  if (role !== "assistant")
    return [{ ...own(), role, content: [{ type: "input_text", text: content }] }];
  const { reasoning, toolCalls = [] } = message;
  const text = { role, content: [outputText(content)] };
  const thoughts =
    reasoning === undefined
      ? []
      : [toReasoningItem(nextId("rs"), { content: [reasoningText(reasoning)], status })];
  return [
    ...thoughts,
    ...(content === "" && toolCalls.length > 0 ? [] : [{ ...own(), ...text }]),
    ...toolCalls.map((call) => toCallItem(nextId("fc"), { ...call, status })),
  ];
}

/** Items are numbered within their response, so that a stream and a later reading name them alike. */
export function messageItem(
  responseId: string,
  index: number,
  { content, status }: Pick<MessageItem, "content" | "status">,
): MessageItem {
  const id = outputItemId("msg", responseId, index);
  return { id, type: "message", status, role: "assistant", content };
}

export function reasoningItem(
  responseId: string,
  index: number,
  item: Pick<ReasoningItem, "content" | "status">,
): ReasoningItem {
  return toReasoningItem(outputItemId("rs", responseId, index), item);
}

function toReasoningItem(
  id: string,
  { content, status }: Pick<ReasoningItem, "content" | "status">,
): ReasoningItem {
  return { id, type: "reasoning", status, summary: [], content };
}

export function callItem(
  responseId: string,
  index: number,
  call: ToolCall & { readonly status: ItemStatus },
): CallItem {
  return toCallItem(outputItemId("fc", responseId, index), call);
}

function toCallItem(id: string, call: ToolCall & { readonly status: ItemStatus }): CallItem {
  const { id: callId, name, arguments: json, status } = call;
  return { id, type: "function_call", status, call_id: callId, name, arguments: json };
}
