import { createHash } from "node:crypto";
import { z } from "zod";
import { serverSentEvent } from "../../core/answer.js";
import type { Chunk } from "../../core/events.js";
import type { Exchange } from "../../core/modality.js";
import type {
  AnswerPart,
  GenerationDelta,
  GenerationOutput,
} from "../../models/decoder/request/generation-request.js";
import type { streamFields } from "./completion-body.js";
import { deltaOf } from "./generation-answer.js";

/** What the answers of chat completions and text completions share. */

export const completionUsage = z
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

/** Of a chunk of a stream. */
export const chunkUsage = completionUsage
  .nullish()
  .describe("where it was asked for: with the last chunk, null before");

export const headerFields = {
  created: z.int().describe("Unix time in seconds"),
  model: z.string(),
  system_fingerprint: z.string(),
};

type StreamRequest = z.infer<z.ZodObject<typeof streamFields>>;
type CompletionExchange = Exchange<StreamRequest, GenerationOutput, GenerationDelta>;

export function completionHeader({
  id,
  model,
  createdAtMs,
}: Pick<CompletionExchange, "id" | "model" | "createdAtMs">) {
  const created = Math.floor(createdAtMs / 1_000);
  return {
    id,
    created,
    model,
    // Tells one model's answers from another's.
    system_fingerprint: `fp_${createHash("sha256").update(model).digest("hex").slice(0, 10)}`,
  };
}

export function textOfParts(
  parts: readonly AnswerPart[],
  type: "text" | "reasoning" = "text",
): string {
  return parts
    .map((part) => (part.type !== "call" && part.type === type ? part.text : ""))
    .join("");
}

export function toUsage({
  usage: { promptTokens, completionTokens, cachedTokens, reasoningTokens },
}: Pick<GenerationOutput, "usage">) {
  return {
    prompt_tokens: promptTokens,
    completion_tokens: completionTokens,
    total_tokens: promptTokens + completionTokens,
    prompt_tokens_details: { cached_tokens: cachedTokens ?? 0, audio_tokens: 0 },
    completion_tokens_details: {
      reasoning_tokens: reasoningTokens ?? 0,
      audio_tokens: 0,
      accepted_prediction_tokens: 0,
      rejected_prediction_tokens: 0,
    },
  };
}

interface CompletionStream<Choice> {
  readonly exchange: CompletionExchange;
  readonly deltas: AsyncIterable<Chunk<GenerationDelta>>;
  /** What each chunk begins with. */
  readonly header: object;
  /** Choices that a stream begins with, before anything was written. */
  readonly opening: readonly Choice[];
  readonly toChoice: (delta: GenerationDelta) => Choice;
}

/** Chunks of deltas, then of usage where it was asked for, then `[DONE]`. */
export async function* streamCompletion<Choice>({
  exchange,
  deltas,
  header,
  opening,
  toChoice,
}: CompletionStream<Choice>): AsyncGenerator<string> {
  const { includeUsage, continuousUsage = false } = exchange.request;
  const chunk = (choices: readonly Choice[], usage: ReturnType<typeof toUsage> | null = null) =>
    serverSentEvent({
      ...header,
      choices,
      ...((includeUsage || continuousUsage) && { usage }),
    });
  for (const choice of opening) yield chunk([choice]);
  for await (const value of deltas)
    yield chunk([toChoice(deltaOf(value))], continuousUsage ? usageSoFar(value) : null);
  const { output } = await exchange.finished();
  if (includeUsage) yield chunk([], toUsage(output));
  yield serverSentEvent("[DONE]");
}

function usageSoFar({ units = {} }: Chunk<GenerationDelta>) {
  const { inputTokens: promptTokens = 0, outputTokens: completionTokens = 0 } = units;
  return toUsage({ usage: { promptTokens, completionTokens } });
}
