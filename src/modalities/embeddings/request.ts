import { z } from "zod";
import { contextExceeded, type JobError } from "../../core/errors.js";
import type { ModelInfo } from "../../core/modality.js";
import { describe, invalidValue, parseBody, wholeNumber } from "../shared/request-body.js";
import {
  checkCharacters,
  parseTextInputs,
  textInputs,
  textInputsField,
} from "../shared/text-inputs.js";

const MAX_INPUTS = 2_048;
/** Tokens of all inputs together, as OpenAI has it. */
const MAX_TOTAL_TOKENS = 300_000;

/** What other services call the kinds of input (Cohere, Voyage, NVIDIA), and models their prompts for them. */
const QUERY_TYPES = ["query", "search_query"];
const DOCUMENT_TYPES = ["document", "search_document", "passage"];
const OTHER_TYPES = ["classification", "clustering"];

/** Body of `POST /v1/embeddings`. */
export const embeddingsBody = z.strictObject({
  model: z.string().min(1),
  input: textInputsField(MAX_INPUTS, MAX_TOTAL_TOKENS),
  dimensions: wholeNumber("dimensions", 1, 65_536).optional(),
  encoding_format: z
    .enum(["float", "base64"], {
      error: (issue) => `encoding_format must be float or base64, got ${describe(issue.input)}`,
    })
    .optional(),
  input_type: z
    .string({ error: (issue) => `input_type must be a string, got ${describe(issue.input)}` })
    .min(1, "input_type must not be empty")
    .max(128, "input_type must be at most 128 characters")
    .describe(
      `${[...QUERY_TYPES, ...DOCUMENT_TYPES, ...OTHER_TYPES].join(", ")}, or the name of one of the model's prompts: which prompt goes before each text`,
    )
    .optional(),
  user: z.string().optional(),
});

/** The same with an input that is checked by hand: a union's issues do not say which item is wrong. */
const looseBody = embeddingsBody.extend({ input: z.unknown() });

/** An admitted request, as it is stored and travels on the queue. */
export const embeddingsRequest = z.object({
  model: z.string(),
  /** 1 to 2048 texts, or token ids of the model's own vocabulary. */
  inputs: textInputs,
  /** Length of the vectors; null for the model's own. */
  dimensions: z.int().positive().nullable(),
  encodingFormat: z.enum(["float", "base64"]),
  /** Goes before each text. */
  prompt: z.string().exactOptional(),
});
export type EmbeddingsRequest = z.infer<typeof embeddingsRequest>;

/** What the pipeline found, as plain JSON. */
export const embeddingsOutput = z.object({
  dimensions: z.int().positive(),
  /** Little-endian float32 [inputs, dimensions] in base64. */
  vectors: z.string(),
  /** Tokens of all inputs, special ones included. */
  inputTokens: z.int().nonnegative(),
});
export type EmbeddingsOutput = z.infer<typeof embeddingsOutput>;

/** Throws `invalid_value` with the parameter at fault. */
export function parseEmbeddingsBody(body: unknown, model: ModelInfo): EmbeddingsRequest {
  const parsed = parseBody(looseBody, body);
  const inputs = parseTextInputs(parsed.input, "input", MAX_INPUTS);
  checkTokens(inputs, model);
  const prompt = choosePrompt(inputs, parsed.input_type, model);
  checkDimensions(parsed.dimensions, model);
  return {
    model: parsed.model,
    inputs,
    dimensions: parsed.dimensions ?? null,
    encodingFormat: parsed.encoding_format ?? "float",
    ...(prompt !== "" && { prompt }),
  };
}

/** The prompt of an input type; the model's default one for texts without a type. */
function choosePrompt(
  inputs: EmbeddingsRequest["inputs"],
  type: string | undefined,
  { prompts = {}, defaultPrompt }: ModelInfo,
): string {
  const hasIds = inputs.some((input) => typeof input !== "string");
  const textOf = (name: string) => (Object.hasOwn(prompts, name) ? prompts[name] : undefined);
  if (type === undefined)
    return hasIds || defaultPrompt === undefined ? "" : (textOf(defaultPrompt) ?? "");
  if (hasIds)
    throw invalidValue(
      "input_type",
      "input_type is for texts: token ids take no prompt before them",
    );
  const own = textOf(type);
  if (own !== undefined) return own;
  const kind = [QUERY_TYPES, DOCUMENT_TYPES, OTHER_TYPES].find((types) => types.includes(type));
  if (kind === undefined) {
    const words = new Set([
      ...Object.keys(prompts),
      ...QUERY_TYPES,
      ...DOCUMENT_TYPES,
      ...OTHER_TYPES,
    ]);
    throw refuse("input_type", `must be one of ${[...words].join(", ")}`, describe(type));
  }
  if (kind === OTHER_TYPES) return "";
  return kind.map(textOf).find((text) => text !== undefined) ?? "";
}

/** Token counts that are known before the text is tokenised. */
function checkTokens(items: EmbeddingsRequest["inputs"], { contextTokens }: ModelInfo): void {
  let total = 0;
  for (const [index, item] of items.entries()) {
    if (typeof item !== "string") total += item.length;
    if (contextTokens === undefined) continue;
    if (typeof item === "string") checkCharacters(item, { param: "input", index }, contextTokens);
    else if (item.length > contextTokens)
      throw tooManyTokens({ index, count: item.length, limit: contextTokens });
  }
  checkTotal(total);
}

/** Throws `context_length_exceeded` naming the item, its tokens and the model's limit. */
export function tooManyTokens(found: {
  readonly index: number;
  readonly count: number;
  readonly limit: number;
}): JobError {
  const { index, count, limit } = found;
  return contextExceeded(limit, `input ${index} has ${count} tokens`, "input");
}

export function checkTotal(total: number): void {
  if (total <= MAX_TOTAL_TOKENS) return;
  throw refuse("input", `must have at most ${MAX_TOTAL_TOKENS} tokens in all`, `${total}`);
}

function checkDimensions(asked: number | undefined, { id, dimensions }: ModelInfo): void {
  if (asked === undefined || dimensions === undefined || asked <= dimensions) return;
  throw refuse("dimensions", `must be at most ${dimensions} for ${id}`, `${asked}`);
}

function refuse(param: string, rule: string, got: string): JobError {
  return invalidValue(param, `${param} ${rule}, got ${got}`);
}
