import { z } from "zod";
import { contextExceeded } from "../../core/errors.js";
import type { ModelInfo } from "../../core/modality.js";
import {
  completionFields,
  completionRequest,
  MAX_CHOICES,
  type TextCompletionRequest,
} from "../shared/completion-body.js";
import { boundedInteger, flag, samplingFields, samplingOf } from "../shared/generation-body.js";
import { invalidValue, parseBody } from "../shared/request-body.js";
import {
  checkCharacters,
  parseTextInputs,
  type TextInputs,
  textInputsField,
} from "../shared/text-inputs.js";

/** Of one request: each is read, and counted, by itself. */
const MAX_PROMPTS = 128;
/** Of all prompts, as token ids. */
const MAX_PROMPT_TOKENS = 300_000;
const DEFAULT_TOKENS = 16;

/** Body of `POST /v1/completions`. */
export const completionsBody = z.strictObject({
  ...samplingFields,
  prompt: textInputsField(MAX_PROMPTS, MAX_PROMPT_TOKENS),
  ...completionFields,
  logprobs: boundedInteger(0, 5).describe(
    "Likeliest tokens to tell beside each that was written; null tells no probabilities",
  ),
  echo: flag.describe("Whether each text begins with its prompt"),
  best_of: boundedInteger(1, MAX_CHOICES).describe(
    "The same as n: no answer is drawn to be dropped",
  ),
  suffix: z.string().max(0, "must be empty: no text is written towards another").nullish(),
  add_special_tokens: flag.describe(
    "Whether the tokenizer adds its own to a text; true by default",
  ),
  skip_special_tokens: flag.describe("Whether tokens of structure are left out; true by default"),
});

type CompletionsBody = z.infer<typeof completionsBody>;

/** The same with prompts that are checked by hand: a union's issues do not say which one is wrong. */
const looseBody = completionsBody.extend({ prompt: z.unknown() });

/** The parsed body with its defaults, which are those of the OpenAI API. */
export function parseCompletionsBody(value: unknown, model: ModelInfo): TextCompletionRequest {
  const body = parseBody(looseBody, value);
  const prompts = parseTextInputs(body.prompt, "prompt", MAX_PROMPTS);
  checkLengths(prompts, model);
  checkAnswers(body);
  return {
    ...samplingOf(body, body.seed),
    ...completionRequest(body),
    prompts,
    maxTokens: body.max_tokens ?? DEFAULT_TOKENS,
    logprobs: body.logprobs ?? null,
    echo: body.echo ?? false,
    addSpecialTokens: body.add_special_tokens ?? true,
    keepSpecialTokens: body.skip_special_tokens === false,
  };
}

/** Refuses what cannot fit the model, before anything counts the tokens of a text. */
function checkLengths(prompts: TextInputs, { contextTokens }: ModelInfo): void {
  const ids = prompts.filter((prompt) => typeof prompt !== "string");
  const total = ids.reduce((sum, { length }) => sum + length, 0);
  if (total > MAX_PROMPT_TOKENS) {
    const message = `prompt must have at most ${MAX_PROMPT_TOKENS} token ids in all, got ${total}`;
    throw invalidValue("prompt", message);
  }
  if (contextTokens === undefined) return;
  for (const [index, prompt] of prompts.entries()) {
    if (typeof prompt === "string")
      checkCharacters(prompt, { param: "prompt", index }, contextTokens);
    else if (prompt.length >= contextTokens)
      throw contextExceeded(
        contextTokens,
        `prompt ${index} has ${prompt.length} tokens, and the answer needs at least one more`,
        "prompt",
      );
  }
}

/** Refuses what no answer would be made for. */
function checkAnswers({ best_of: most, n, echo, logprobs }: Omit<CompletionsBody, "prompt">): void {
  if (typeof most === "number" && most !== (n ?? 1)) {
    const message = `best_of must be n, which is ${n ?? 1}: no answer is drawn to be dropped, got ${most}`;
    throw invalidValue("best_of", message);
  }
  if (echo === true && typeof logprobs === "number") {
    const message = `logprobs with echo must be null: a prompt's probabilities are not known, got ${logprobs}`;
    throw invalidValue("logprobs", message);
  }
}
