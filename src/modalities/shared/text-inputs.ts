import { z } from "zod";
import { contextExceeded, JobError } from "../../core/errors.js";
import { describe, invalidValue, MOST_CHARACTERS_PER_TOKEN } from "./request-body.js";

/** Texts, or token ids of the model's own vocabulary: one, or a list of them. */

const FORMS = "a string, an array of strings, an array of token ids or an array of such arrays";
const MAX_TOKEN_ID = 2 ** 31 - 1;

const text = z.string().min(1, "must not be empty");
const tokens = z.array(z.int().min(0).max(MAX_TOKEN_ID)).min(1, "must not be empty");

/** What a body's field may be, for the OpenAPI document: it is read by `parseTextInputs`. */
export function textInputsField(maxItems: number, maxTokens: number) {
  return z
    .union([
      text,
      z.array(text).min(1).max(maxItems),
      tokens.max(maxTokens),
      z.array(tokens).min(1).max(maxItems),
    ])
    .describe(`${FORMS}; at most ${maxItems} items, none of them empty`);
}

/** Token ids; a hundred thousand of them are looked at one by one, not parsed one by one. */
const tokenList = z.custom<readonly number[]>(
  (value) => Array.isArray(value) && value.every((id) => Number.isInteger(id)),
);

/** As they are stored and travel on the queue. */
export const textInputs = z.array(z.union([z.string(), tokenList])).readonly();
export type TextInputs = z.infer<typeof textInputs>;

/** The field's value as a list, read by hand: a union's issues do not say which item is wrong. */
export function parseTextInputs(value: unknown, param: string, maxItems: number): TextInputs {
  if (value === undefined)
    throw new JobError("missing_required_parameter", `${param} is required`, { param });
  const list = Array.isArray(value) && !isTokenList(value) ? value : [value];
  if (list.length > maxItems)
    throw refuse(param, `must have at most ${maxItems} items`, `${list.length}`);
  if (list.length === 0) throw refuse(param, "must not be empty", "an empty array");
  const isBatch = list[0] !== value;
  const kind = typeof list[0];
  return list.map((item: unknown, index) => {
    const place = isBatch ? `${param}.${index}` : param;
    if (typeof item !== kind) throw refuse(place, `must be ${FORMS}`, describe(item));
    return parseItem(item, place);
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
  throw refuse(param, `must be ${FORMS}`, describe(item));
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

interface ItemOf {
  readonly param: string;
  /** Place in the list. */
  readonly index: number;
}

/** Refuses by its characters what cannot fit the model, before anything counts its tokens. */
export function checkCharacters({ length }: string, { param, index }: ItemOf, limit: number): void {
  if (length <= limit * MOST_CHARACTERS_PER_TOKEN) return;
  const excess = `${param} ${index} has ${length} characters, more than so many tokens can hold`;
  throw contextExceeded(limit, excess, param);
}

/** Refuses token ids that the model does not have. */
export function checkVocabulary(
  input: string | readonly number[],
  { param, index }: ItemOf,
  vocabSize: number,
): void {
  const wrong = typeof input === "string" ? undefined : input.find((id) => id >= vocabSize);
  if (wrong === undefined) return;
  const message = `${param} ${index} must have token ids of the model's own vocabulary, below ${vocabSize}, got ${wrong}; send text (LangChain: check_embedding_ctx_length=False)`;
  throw invalidValue(param, message);
}

function refuse(param: string, rule: string, got: string): JobError {
  return invalidValue(param, `${param} ${rule}, got ${got}`);
}
