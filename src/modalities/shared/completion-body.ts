import { z } from "zod";
import { samplingRequest } from "../../models/decoder/request/generation-request.js";
import {
  boundedInteger,
  boundedNumber,
  lengthFields,
  lengthOf,
  MOST_TOKENS,
} from "./generation-body.js";
import { atMost, invalidValue } from "./request-body.js";
import { textInputs } from "./text-inputs.js";

/** Fields and rules that the bodies of chat completions and text completions share. */

const MAX_STOPS = 4;
export const MAX_CHOICES = 8;
const MAX_BIASES = 1_024;

const stopText = z.string().min(1, "must not be empty").max(256, "must be at most 256 characters");

export const completionFields = {
  n: boundedInteger(1, MAX_CHOICES),
  stream_options: z
    .strictObject({
      include_usage: z.boolean().nullish(),
      continuous_usage_stats: z.boolean().nullish(),
      include_obfuscation: z.unknown().optional(),
    })
    .nullish(),
  stop: z
    .union([stopText, z.array(stopText).max(MAX_STOPS, `must be at most ${MAX_STOPS} texts`)], {
      error: `must be a text or an array of at most ${MAX_STOPS} texts`,
    })
    .nullish(),
  max_tokens: boundedInteger(1, MOST_TOKENS),
  presence_penalty: boundedNumber(-2, 2),
  repetition_penalty: boundedNumber(0.1, 10).describe(
    "Divides what speaks for a token that prompt or answer has; the model's own unless given",
  ),
  ...lengthFields,
  frequency_penalty: boundedNumber(-2, 2),
  logit_bias: atMost(
    MAX_BIASES,
    "token ids",
    z.record(z.string().regex(/^\d{1,9}$/, "must be token ids"), z.number().min(-100).max(100), {
      error: "must be an object of token ids and numbers from -100 to 100",
    }),
  ).nullish(),
  seed: z.int({ error: "must be a whole number" }).nullish(),
};

const completionBody = z.object({ ...completionFields, stream: z.boolean().nullish() });
type CompletionBody = z.infer<typeof completionBody>;

/** What a stored request says of how its answer streams. */
export const streamFields = {
  /** Whether a stream ends with a chunk of usage. */
  includeUsage: z.boolean(),
  /** There where every chunk of a stream says the usage so far. */
  continuousUsage: z.literal(true).exactOptional(),
};

/** An admitted request of text completions, as it is stored and travels on the queue. */
export const textCompletionRequest = samplingRequest.extend({
  ...streamFields,
  /** Continued as they are, without a template. */
  prompts: textInputs,
  /** Whether each choice begins with its prompt. */
  echo: z.boolean(),
  /** Whether the tokenizer adds its own to a text, e.g. `<s>`. */
  addSpecialTokens: z.boolean(),
  /** Whether tokens of structure are written out. */
  keepSpecialTokens: z.boolean(),
});
export type TextCompletionRequest = z.infer<typeof textCompletionRequest>;

/** The parts of a request that both bodies say alike. */
export function completionRequest(body: CompletionBody) {
  return {
    n: body.n ?? 1,
    frequencyPenalty: body.frequency_penalty ?? 0,
    presencePenalty: body.presence_penalty ?? 0,
    ...lengthOf(body),
    ...(typeof body.repetition_penalty === "number" && {
      repetitionPenalty: body.repetition_penalty,
    }),
    stop: typeof body.stop === "string" ? [body.stop] : (body.stop ?? []),
    logitBias: body.logit_bias ?? {},
    includeUsage: includeUsage(body),
    ...(body.stream_options?.continuous_usage_stats && { continuousUsage: true as const }),
  };
}

function includeUsage({ stream, stream_options: options }: CompletionBody): boolean {
  if (!options || stream) return options?.include_usage ?? false;
  throw invalidValue("stream_options", "stream_options needs stream to be true");
}
