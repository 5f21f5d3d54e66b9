import { z } from "zod";
import { type Answer, EVENT_STREAM } from "../../core/answer.js";
import type { Exchange } from "../../core/modality.js";
import type {
  GenerationDelta,
  GenerationOutput,
} from "../../models/decoder/request/generation-request.js";
import type { ChosenLogprob, TokenLogprob } from "../../models/decoder/request/request.js";
import {
  chunkUsage,
  completionHeader,
  headerFields,
  streamCompletion,
  textOfParts,
  toUsage,
} from "../shared/completion-answer.js";
import type { TextCompletionRequest } from "../shared/completion-body.js";
import { openDeltas, tokenLogprobs } from "../shared/generation-answer.js";

const logprobsObject = z
  .object({
    tokens: z.array(z.string()),
    token_logprobs: z.array(z.number()),
    top_logprobs: z
      .array(z.record(z.string(), z.number()))
      .describe("the likeliest tokens at each place, and the one that was written"),
    text_offset: z.array(z.int()).describe("characters of the text before each token"),
  })
  .meta({ id: "CompletionLogprobs" });

/** The whole answer of `POST /v1/completions`, and of each event, where it streams; the last one is `[DONE]`. */
export const textCompletion = z
  .object({
    id: z.string().describe("cmpl- and 32 hexadecimal digits"),
    ...headerFields,
    object: z.literal("text_completion"),
    choices: z.array(
      z.object({
        index: z.int().describe("the prompt's place times n, plus the choice's own"),
        text: z.string(),
        logprobs: logprobsObject.nullable(),
        finish_reason: z.enum(["stop", "length"]).nullable().describe("null before the end"),
      }),
    ),
    usage: chunkUsage,
  })
  .meta({ id: "TextCompletion" });

type TextChoice = z.infer<typeof textCompletion>["choices"][number];
type CompletionExchange = Exchange<TextCompletionRequest, GenerationOutput, GenerationDelta>;

export async function answerCompletion(exchange: CompletionExchange): Promise<Answer> {
  const header = { ...completionHeader(exchange), object: "text_completion" } as const;
  if (exchange.request.stream) {
    // The first delta is awaited, so that a refused prompt has its own status.
    const deltas = await openDeltas(exchange.chunks);
    const toChoice = createDeltaReader();
    const body = streamCompletion({ exchange, deltas, header, opening: [], toChoice });
    return { mediaType: EVENT_STREAM, body };
  }
  const { output } = await exchange.finished();
  const json: z.infer<typeof textCompletion> = {
    ...header,
    choices: output.choices.map(({ parts, logprobs, finishReason }, index) => ({
      index,
      text: textOfParts(parts),
      logprobs: logprobs === null ? null : toLogprobs(logprobs, 0),
      finish_reason: endOf(finishReason),
    })),
    usage: toUsage(output),
  };
  return { json };
}

/** Choices of the deltas, whose offsets go on where those of the delta before ended. */
function createDeltaReader(): (delta: GenerationDelta) => TextChoice {
  const offsets = new Map<number, number>();
  return ({ choice: index, parts, logprobs, finishReason }) => {
    const before = offsets.get(index) ?? 0;
    offsets.set(index, before + charactersOf(logprobs ?? []));
    return {
      index,
      text: textOfParts(parts),
      logprobs: logprobs === undefined ? null : toLogprobs(logprobs, before),
      finish_reason: finishReason === undefined ? null : endOf(finishReason),
    };
  };
}

/** Text completions make no calls. */
function endOf(reason: GenerationOutput["choices"][number]["finishReason"]): "stop" | "length" {
  return reason === "length" ? "length" : "stop";
}

/** The legacy form: a list for each property. `before` is in characters of the text. */
function toLogprobs(
  chosen: readonly ChosenLogprob[],
  before: number,
): z.infer<typeof logprobsObject> {
  const shown = tokenLogprobs(chosen);
  return {
    tokens: shown.map(({ token }) => token),
    token_logprobs: shown.map(({ logprob }) => logprob),
    top_logprobs: shown.map((one) =>
      Object.fromEntries([...one.top_logprobs, one].map(({ token, logprob }) => [token, logprob])),
    ),
    text_offset: chosen.map((_, index) => before + charactersOf(chosen.slice(0, index))),
  };
}

/** Unicode characters that begin in these tokens, of which one may be a part of a character. */
function charactersOf(tokens: readonly TokenLogprob[]): number {
  const begins = (byte: number) => (byte & 0xc0) !== 0x80;
  return tokens.reduce((sum, { bytes }) => sum + bytes.filter(begins).length, 0);
}
