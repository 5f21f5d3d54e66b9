import { z } from "zod";
import { contextExceeded, JobError } from "../../core/errors.js";
import type { ModelInfo } from "../../core/modality.js";
import {
  describe,
  invalidValue,
  MOST_CHARACTERS_PER_TOKEN,
  parseBody,
  wholeNumber,
} from "../shared/request-body.js";

const MAX_INPUTS = 2_048;
/** Tokens of all inputs together, as OpenAI has it. */
const MAX_TOTAL_TOKENS = 300_000;

const INPUT_FORMS =
  "a string, an array of strings, an array of token ids or an array of such arrays";
const text = z.string().min(1, "must not be empty");
const MAX_TOKEN_ID = 2 ** 31 - 1;
const token = z.int().min(0).max(MAX_TOKEN_ID);
const tokens = z.array(token).min(1, "must not be empty");
const input = z
  .union([
    text,
    z.array(text).min(1).max(MAX_INPUTS),
    tokens.max(MAX_TOTAL_TOKENS),
    z.array(tokens).min(1).max(MAX_INPUTS),
  ])
  .describe(`${INPUT_FORMS}; at most ${MAX_INPUTS} items, none of them empty`);

/** Body of `POST /v1/embeddings`. */
export const embeddingsBody = z.strictObject({
  model: z.string().min(1),
  input,
  dimensions: wholeNumber("dimensions", 1, 65_536).optional(),
  encoding_format: z
    .enum(["float", "base64"], {
      error: (issue) => `encoding_format must be float or base64, got ${describe(issue.input)}`,
    })
    .optional(),
  user: z.string().optional(),
});

/** The same with an input that is checked by hand: a union's issues do not say which item is wrong. */
const looseBody = embeddingsBody.extend({ input: z.unknown() });

/** Token ids; a hundred thousand of them are looked at one by one, not parsed one by one. */
const tokenList = z.custom<readonly number[]>(
  (value) => Array.isArray(value) && value.every((id) => Number.isInteger(id)),
);

/** An admitted request, as it is stored and travels on the queue. */
export const embeddingsRequest = z.object({
  model: z.string(),
  /** 1 to 2048 texts, or token ids of the model's own vocabulary. */
  inputs: z.array(z.union([z.string(), tokenList])).readonly(),
  /** Length of the vectors; null for the model's own. */
  dimensions: z.int().positive().nullable(),
  encodingFormat: z.enum(["float", "base64"]),
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
  const inputs = parseInputs(parsed.input);
  checkTokens(inputs, model);
  checkDimensions(parsed.dimensions, model);
  return {
    model: parsed.model,
    inputs,
    dimensions: parsed.dimensions ?? null,
    encodingFormat: parsed.encoding_format ?? "float",
  };
}

function parseInputs(value: unknown): EmbeddingsRequest["inputs"] {
  if (value === undefined)
    throw new JobError("missing_required_parameter", "input is required", { param: "input" });
  const list = Array.isArray(value) && !isTokenList(value) ? value : [value];
  if (list.length > MAX_INPUTS)
    throw refuse("input", `must have at most ${MAX_INPUTS} items`, `${list.length}`);
  if (list.length === 0) throw refuse("input", "must not be empty", "an empty array");
  const isBatch = list[0] !== value;
  const kind = typeof list[0];
  return list.map((item: unknown, index) => {
    const param = isBatch ? `input.${index}` : "input";
    if (typeof item !== kind) throw refuse(param, `must be ${INPUT_FORMS}`, describe(item));
    return parseItem(item, param);
  });
}

function parseItem(item: unknown, param: string): string | number[] {
  if (typeof item === "string") {
    if (item === "") throw refuse(param, "must not be empty", "an empty string");
    return item;
  }
  if (isTokens(item)) return item;
  if (Array.isArray(item) && item.length === 0)
    throw refuse(param, "must not be empty", "an empty array");
  throw refuse(param, `must be ${INPUT_FORMS}`, describe(item));
}

/** As `tokens` has it, which would take 0.2 ms for a thousand. */
function isTokens(item: unknown): item is number[] {
  return Array.isArray(item) && item.length > 0 && item.every(isToken);
}

function isToken(id: unknown): boolean {
  return Number.isInteger(id) && Number(id) >= 0 && Number(id) <= MAX_TOKEN_ID;
}

function isTokenList(list: readonly unknown[]): boolean {
  return list.length > 0 && typeof list[0] === "number";
}

/** Token counts that are known before the text is tokenised. */
function checkTokens(items: EmbeddingsRequest["inputs"], { contextTokens }: ModelInfo): void {
  let total = 0;
  for (const [index, item] of items.entries()) {
    if (typeof item !== "string") total += item.length;
    if (contextTokens === undefined) continue;
    if (typeof item === "string") checkCharacters(item, index, contextTokens);
    else if (item.length > contextTokens)
      throw tooManyTokens({ index, count: item.length, limit: contextTokens });
  }
  checkTotal(total);
}

/** Refuses by its characters what cannot fit the model, before anything counts its tokens. */
export function checkCharacters({ length }: string, index: number, limit: number): void {
  if (length <= limit * MOST_CHARACTERS_PER_TOKEN) return;
  const excess = `input ${index} has ${length} characters, more than so many tokens can hold`;
  throw contextExceeded(limit, excess, "input");
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
