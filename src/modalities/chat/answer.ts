import { z } from "zod";
import { type Answer, EVENT_STREAM } from "../../core/answer.js";
import type { Chunk } from "../../core/events.js";
import type { Exchange } from "../../core/modality.js";
import type {
  AnswerPart,
  GenerationChoice,
  GenerationDelta,
  GenerationOutput,
  ToolCall,
} from "../../models/decoder/request/generation-request.js";
import type { ChosenLogprob } from "../../models/decoder/request/request.js";
import {
  chunkUsage,
  completionHeader,
  completionUsage,
  headerFields,
  streamCompletion,
  textOfParts,
  toUsage,
} from "../shared/completion-answer.js";
import { openDeltas, tokenLogprob, tokenLogprobs } from "../shared/generation-answer.js";
import { serviceTierField } from "../shared/job-object.js";
import type { ChatRequest } from "./request.js";

const logprobsObject = z
  .object({
    content: z.array(tokenLogprob),
    refusal: z.null(),
  })
  .meta({ id: "ChatLogprobs" });

const toolCallFields = {
  id: z.string(),
  type: z.literal("function"),
  function: z.object({ name: z.string(), arguments: z.string() }),
};

const finishReason = z.enum(["stop", "length", "tool_calls", "content_filter"]);

const chatFields = {
  id: z.string().describe("chatcmpl- and 32 hexadecimal digits"),
  ...headerFields,
  service_tier: serviceTierField,
};

/** The whole answer of `POST /v1/chat/completions`. */
export const chatCompletion = z.object({
  ...chatFields,
  object: z.literal("chat.completion"),
  choices: z.array(
    z.object({
      index: z.int(),
      message: z.object({
        role: z.literal("assistant"),
        content: z.string().nullable(),
        reasoning_content: z.string().optional().describe("What the model thought before"),
        refusal: z.null(),
        annotations: z.array(z.never()),
        tool_calls: z.array(z.object(toolCallFields)).optional(),
      }),
      logprobs: logprobsObject.nullable(),
      finish_reason: finishReason,
    }),
  ),
  usage: completionUsage,
});

/** Data of an event, where the answer streams; the last one is `[DONE]`. */
export const chatChunk = z
  .object({
    ...chatFields,
    object: z.literal("chat.completion.chunk"),
    choices: z.array(
      z.object({
        index: z.int(),
        delta: z.object({
          role: z.literal("assistant").optional(),
          content: z.string().optional(),
          reasoning_content: z.string().optional(),
          refusal: z.null().optional(),
          tool_calls: z.array(z.object({ index: z.int(), ...toolCallFields })).optional(),
        }),
        logprobs: logprobsObject.nullable(),
        finish_reason: finishReason.nullable(),
      }),
    ),
    usage: chunkUsage,
  })
  .meta({ id: "ChatCompletionChunk" });

type ChatChunk = z.infer<typeof chatChunk>;
type ChatCompletion = z.infer<typeof chatCompletion>;
type ChatExchange = Exchange<ChatRequest, GenerationOutput, GenerationDelta>;

export async function answerChat(exchange: ChatExchange): Promise<Answer> {
  if (exchange.request.stream) {
    // The first delta is awaited, so that a refused prompt has its own status.
    const deltas = await openDeltas(exchange.chunks);
    return { mediaType: EVENT_STREAM, body: streamChat(exchange, deltas) };
  }
  const { output } = await exchange.finished();
  const json: ChatCompletion = {
    ...header(exchange),
    object: "chat.completion",
    choices: output.choices.map(toChoice),
    usage: toUsage(output),
  };
  return { json };
}

function header(exchange: ChatExchange) {
  return { ...completionHeader(exchange), service_tier: exchange.serviceTier };
}

function toChoice(choice: GenerationChoice, index: number): ChatCompletion["choices"][number] {
  const text = textOfParts(choice.parts);
  const reasoning = textOfParts(choice.parts, "reasoning");
  const calls = callsOf(choice.parts);
  return {
    index,
    message: {
      role: "assistant",
      content: text === "" && calls.length > 0 ? null : text,
      ...(reasoning !== "" && { reasoning_content: reasoning }),
      refusal: null,
      annotations: [],
      ...(calls.length > 0 && { tool_calls: calls.map(toToolCall) }),
    },
    logprobs: toLogprobs(choice.logprobs ?? undefined),
    finish_reason: choice.finishReason,
  };
}

function callsOf(parts: readonly AnswerPart[]): ToolCall[] {
  return parts.flatMap((part) => (part.type === "call" ? [part.call] : []));
}

function toToolCall({ id, name, arguments: args }: ToolCall) {
  return { id, type: "function", function: { name, arguments: args } } as const;
}

function toToolCallDelta(call: ToolCall, index: number) {
  return { index, ...toToolCall(call) };
}

function toLogprobs(logprobs: readonly ChosenLogprob[] | undefined) {
  return logprobs === undefined ? null : { content: tokenLogprobs(logprobs), refusal: null };
}

/** Chunks: the role of each choice, its deltas, its end; then usage where it was asked for. */
function streamChat(
  exchange: ChatExchange,
  deltas: AsyncIterable<Chunk<GenerationDelta>>,
): AsyncGenerator<string> {
  const { n } = exchange.request;
  const callCounts = Array.from({ length: n }, () => 0);
  const delta = { role: "assistant", content: "", refusal: null } as const;
  return streamCompletion<ChatChunk["choices"][number]>({
    exchange,
    deltas,
    header: { ...header(exchange), object: "chat.completion.chunk" },
    opening: callCounts.map((_, index) => ({ index, delta, logprobs: null, finish_reason: null })),
    toChoice: (added) => toChunkChoice(added, callCounts),
  });
}

function toChunkChoice(delta: GenerationDelta, callCounts: number[]): ChatChunk["choices"][number] {
  const text = textOfParts(delta.parts);
  const reasoning = textOfParts(delta.parts, "reasoning");
  const calls = callsOf(delta.parts);
  const first = callCounts[delta.choice] ?? 0;
  callCounts[delta.choice] = first + calls.length;
  return {
    index: delta.choice,
    delta: {
      ...(reasoning !== "" && { reasoning_content: reasoning }),
      ...(text !== "" && { content: text }),
      ...(calls.length > 0 && {
        tool_calls: calls.map((call, index) => toToolCallDelta(call, first + index)),
      }),
    },
    logprobs: toLogprobs(delta.logprobs),
    finish_reason: delta.finishReason ?? null,
  };
}
