import { z } from "zod";
import { JobError } from "../../core/errors.js";
import { artifact, describe, invalidValue, parseBody } from "../shared/request-body.js";

/** What content is judged for, in the order of the answer. */
export const CATEGORIES = [
  "harassment",
  "harassment/threatening",
  "hate",
  "hate/threatening",
  "illicit",
  "illicit/violent",
  "self-harm",
  "self-harm/intent",
  "self-harm/instructions",
  "sexual",
  "sexual/minors",
  "violence",
  "violence/graphic",
] as const;

export type Category = (typeof CATEGORIES)[number];

export function isCategory(name: string): name is Category {
  return CATEGORIES.some((category) => category === name);
}

export const MAX_INPUTS = 1_024;
const MAX_PICTURES = 8;
/** Of one text. Long texts are judged window by window. */
export const MAX_CHARACTERS = 1_000_000;

const text = z.string().max(MAX_CHARACTERS);
const textPart = z.strictObject({ type: z.literal("text"), text });
const picturePart = z.strictObject({
  type: z.literal("image_url"),
  image_url: z.strictObject({ url: z.string().describe("a data URL of a PNG, JPEG or WebP") }),
});
const part = z.discriminatedUnion("type", [textPart, picturePart]);

/** Body of `POST /v1/moderations`. */
export const moderationBody = z.strictObject({
  model: z.string().min(1).optional(),
  input: z
    .union([text, z.array(text).min(1).max(MAX_INPUTS), z.array(part).min(1).max(MAX_INPUTS)])
    .describe("a text, texts that are judged one by one, or parts that are judged together"),
});

/** Checked by hand: a union's issues do not say which item is wrong. */
const looseBody = moderationBody.extend({ input: z.unknown() });

/** A part as the caller sent it. */
export type SentPart = z.infer<typeof part>;

const moderationPart = z.discriminatedUnion("type", [
  z.object({ type: z.literal("text"), text: z.string() }),
  z.object({ type: z.literal("image"), image: artifact }),
]);
export type ModerationPart = z.infer<typeof moderationPart>;

/** An admitted request, as it is stored and travels on the queue. */
export const moderationRequest = z.object({
  /** Each has one result; its parts are judged together. */
  inputs: z.array(z.array(moderationPart).readonly()).readonly(),
});
export type ModerationRequest = z.infer<typeof moderationRequest>;

const inputType = z.enum(["text", "image"]);
export type InputType = z.infer<typeof inputType>;

/** What the pipeline found, as plain JSON; scores and thresholds are in the order of `CATEGORIES`. */
export const moderationOutput = z.object({
  results: z
    .array(
      z.object({
        scores: z.array(z.number()).readonly(),
        /** For each category the kinds of input that its score speaks for. */
        appliedTypes: z.array(z.array(inputType).readonly()).readonly(),
      }),
    )
    .readonly(),
  /** A category is flagged from its threshold on. */
  thresholds: z.array(z.number()).readonly(),
  inputTokens: z.int().nonnegative(),
});
export type ModerationOutput = z.infer<typeof moderationOutput>;

/** The parts of each input. Throws `invalid_value` with the item at fault. */
export function parseModerationBody(body: unknown): SentPart[][] {
  const { input } = parseBody(looseBody, body);
  if (input === undefined)
    throw new JobError("missing_required_parameter", "input is required", { param: "input" });
  if (typeof input === "string") return [[textPartOf(input, "input")]];
  if (!Array.isArray(input))
    throw invalidValue(
      "input",
      `input must be a string, an array of strings or an array of parts, got ${describe(input)}`,
    );
  if (input.length === 0 || input.length > MAX_INPUTS)
    throw invalidValue("input", `input must have 1 to ${MAX_INPUTS} items, got ${input.length}`);
  if (typeof input[0] === "string")
    return input.map((item: unknown, index) => [textPartOf(item, `input.${index}`)]);
  return [parseParts(input)];
}

function parseParts(input: readonly unknown[]): SentPart[] {
  const parts = input.map((item, index) => {
    const parsed = part.safeParse(item);
    if (parsed.success) return parsed.data;
    const at = [`input.${index}`, ...(parsed.error.issues[0]?.path ?? [])].join(".");
    throw invalidValue(
      at,
      `${at} must be a text part or an image_url part: ${parsed.error.issues[0]?.message}`,
    );
  });
  const pictures = parts.filter(({ type }) => type === "image_url").length;
  if (pictures > MAX_PICTURES)
    throw invalidValue(
      "input",
      `input must have at most ${MAX_PICTURES} pictures, got ${pictures}`,
    );
  return parts;
}

function textPartOf(item: unknown, param: string): SentPart {
  if (typeof item !== "string")
    throw invalidValue(param, `${param} must be a string, got ${describe(item)}`);
  if (item.length > MAX_CHARACTERS)
    throw invalidValue(
      param,
      `${param} must be at most ${MAX_CHARACTERS} characters, got ${item.length}`,
    );
  return { type: "text", text: item };
}
