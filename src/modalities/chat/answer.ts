import { createHash } from "node:crypto";
import { z } from "zod";
import { type Answer, EVENT_STREAM, serverSentEvent } from "../../core/answer.js";
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
import { deltaOf, openDeltas, tokenLogprob, tokenLogprobs } from "../shared/generation-answer.js";
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

const completionUsage = z
  .object({
    prompt_tokens: z.int(),
    completion_tokens: z.int(),
    total_tokens: z.int(),
    prompt_tokens_details: z.object({ cached_tokens: z.int(), audio_tokens: z.int() }),
    completion_tokens_details: z.object({
      reasoning_tokens: z.int(),
      audio_tokens: z.int(),
      accepted_prediction_tokens: z.int(),
      rejected_prediction_tokens: z.int(),
    }),
  })
  .meta({ id: "CompletionUsage" });

const headerFields = {
  id: z.string().describe("chatcmpl- and 32 hexadecimal digits"),
  created: z.int().describe("Unix time in seconds"),
  model: z.string(),
  system_fingerprint: z.string(),
  service_tier: z.literal("default"),
};

/** The whole answer of `POST /v1/chat/completions`. */
export const chatCompletion = z.object({
  ...headerFields,
  object: z.literal("chat.completion"),
  choices: z.array(
    z.object({
      index: z.int(),
      message: z.object({
        role: z.literal("assistant"),
        content: z.string().nullable(),
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
    ...headerFields,
    object: z.literal("chat.completion.chunk"),
    choices: z.array(
      z.object({
        index: z.int(),
        delta: z.object({
          role: z.literal("assistant").optional(),
          content: z.string().optional(),
          refusal: z.null().optional(),
          tool_calls: z.array(z.object({ index: z.int(), ...toolCallFields })).optional(),
        }),
        logprobs: logprobsObject.nullable(),
        finish_reason: finishReason.nullable(),
      }),
    ),
    usage: completionUsage
      .nullish()
      .describe("where it was asked for: with the last chunk, null before"),
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

function header({ id, model, createdAtMs }: ChatExchange) {
  const created = Math.floor(createdAtMs / 1_000);
  return {
    id,
    created,
    model,
    // Tells one model's answers from another's.
    system_fingerprint: `fp_${createHash("sha256").update(model).digest("hex").slice(0, 10)}`,
    service_tier: "default",
  } as const;
}

function toChoice(choice: GenerationChoice, index: number): ChatCompletion["choices"][number] {
  const text = textOf(choice.parts);
  const calls = callsOf(choice.parts);
  return {
    index,
    message: {
      role: "assistant",
      content: text === "" && calls.length > 0 ? null : text,
      refusal: null,
      annotations: [],
      ...(calls.length > 0 && { tool_calls: calls.map(toToolCall) }),
    },
    logprobs: toLogprobs(choice.logprobs ?? undefined),
    finish_reason: choice.finishReason,
  };
}

function textOf(parts: readonly AnswerPart[]): string {
  return parts.map((part) => (part.type === "text" ? part.text : "")).join("");
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

function toUsage({
  usage: { promptTokens, completionTokens, cachedTokens },
}: Pick<GenerationOutput, "usage">) {
  return {
    prompt_tokens: promptTokens,
    completion_tokens: completionTokens,
    total_tokens: promptTokens + completionTokens,
    prompt_tokens_details: { cached_tokens: cachedTokens ?? 0, audio_tokens: 0 },
    completion_tokens_details: {
      reasoning_tokens: 0,
      audio_tokens: 0,
      accepted_prediction_tokens: 0,
      rejected_prediction_tokens: 0,
    },
  };
}

/** Chunks: the role of each choice, its deltas, its end; then usage where it was asked for. */
async function* streamChat(
  exchange: ChatExchange,
  deltas: AsyncIterable<Chunk<GenerationDelta>>,
): AsyncGenerator<string> {
  const { includeUsage, continuousUsage = false, n } = exchange.request;
  const chunk = (choices: ChatChunk["choices"], usage: ChatChunk["usage"] = null) => {
    const data: ChatChunk = {
      ...header(exchange),
      object: "chat.completion.chunk",
      choices,
      ...((includeUsage || continuousUsage) && { usage }),
    };
    return serverSentEvent(data);
  };
  const callCounts = Array.from({ length: n }, () => 0);
  for (let index = 0; index < n; index += 1) {
    const delta = { role: "assistant", content: "", refusal: null } as const;
    yield chunk([{ index, delta, logprobs: null, finish_reason: null }]);
  }
  for await (const value of deltas) {
    const choices = [toChunkChoice(deltaOf(value), callCounts)];
    yield chunk(choices, continuousUsage ? usageSoFar(value) : null);
  }
  const { output } = await exchange.finished();
  if (includeUsage) yield chunk([], toUsage(output));
  yield serverSentEvent("[DONE]");
}

function usageSoFar({ units = {} }: Chunk<GenerationDelta>) {
  const { inputTokens: promptTokens = 0, outputTokens: completionTokens = 0 } = units;
  return toUsage({ usage: { promptTokens, completionTokens } });
}

function toChunkChoice(delta: GenerationDelta, callCounts: number[]): ChatChunk["choices"][number] {
  const text = textOf(delta.parts);
  const calls = callsOf(delta.parts);
  const first = callCounts[delta.choice] ?? 0;
  callCounts[delta.choice] = first + calls.length;
  return {
    index: delta.choice,
    delta: {
      ...(text !== "" && { content: text }),
      ...(calls.length > 0 && {
        tool_calls: calls.map((call, index) => toToolCallDelta(call, first + index)),
      }),
    },
    logprobs: toLogprobs(delta.logprobs),
    finish_reason: delta.finishReason ?? null,
  };
}
