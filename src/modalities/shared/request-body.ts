import { z } from "zod";
import { JobError } from "../../core/errors.js";
import type { ModelInfo } from "../../core/modality.js";

/** More characters than any one token stands for: vocabularies end at 128 spaces. */
export const MOST_CHARACTERS_PER_TOKEN = 128;

/** The error of a parameter whose value is refused. */
export function invalidValue(param: string, message: string): JobError {
  return new JobError("invalid_value", message, { param });
}

/** Refuses a length that the model does not make; `least` and `most` where it names no bounds. */
export function checkSeconds(
  seconds: number,
  { id, minSeconds, maxSeconds }: ModelInfo,
  [least, most]: readonly [least: number, most: number],
): void {
  const [minimum, maximum] = [minSeconds ?? least, maxSeconds ?? most];
  if (seconds >= minimum && seconds <= maximum) return;
  const message = `seconds must be ${minimum} to ${maximum} for ${id}, got ${seconds}`;
  throw invalidValue("seconds", message);
}

/**
 * Parses a request body, in which null is "not given", as clients send it that know their user's choices
 * only as options; the first problem becomes a `JobError` that names its parameter.
 */
export function parseBody<T>(schema: z.ZodType<T>, body: unknown): T {
  if (typeof body !== "object" || body === null || Array.isArray(body))
    throw new JobError("invalid_value", `the body must be an object, got ${describe(body)}`);
  const given = Object.fromEntries(Object.entries(body).filter(([, value]) => value !== null));
  const parsed = schema.safeParse(given);
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  if (issue === undefined) throw new JobError("invalid_value", "the body is not usable");
  throw issueError(innermost(issue), body);
}

/** A whole number, or its digits as a string, as multipart forms send it. */
export function wholeNumber(param: string, minimum: number, maximum: number) {
  const error = (issue: { readonly input?: unknown }) =>
    issue.input === undefined
      ? `${param} is required`
      : `${param} must be a whole number from ${minimum} to ${maximum}, got ${describe(issue.input)}`;
  return z.preprocess(
    numberIn(/^\d{1,16}$/),
    z.int({ error }).min(minimum, { error }).max(maximum, { error }),
  );
}

/** The number that a form's text of this pattern says; any other value as it came. */
function numberIn(pattern: RegExp) {
  return (value: unknown) =>
    typeof value === "string" && pattern.test(value) ? Number(value) : value;
}

/** Whether `seconds` came as digits, as multipart forms and OpenAI's clients send them, who read it so. */
export function hasSecondsAsText(body: unknown): boolean {
  return typeof child(body, "seconds") === "string";
}

/** A number, or the same as multipart forms send it. */
export function decimalNumber(param: string, minimum: number, maximum: number) {
  const error = (issue: { readonly input?: unknown }) =>
    `${param} must be a number from ${minimum} to ${maximum}, got ${describe(issue.input)}`;
  return z.preprocess(
    numberIn(/^\d{1,3}(\.\d{0,9})?$/),
    z.number({ error }).min(minimum, { error }).max(maximum, { error }),
  );
}

/** One of some words. */
export function oneOf<const Words extends readonly string[]>(param: string, words: Words) {
  return z.enum(words, {
    error: (issue) => `${param} must be one of ${words.join(", ")}, got ${describe(issue.input)}`,
  });
}

/** A text of at most so many characters (UTF-16 units). */
export function boundedText(param: string, maximum: number) {
  return z
    .string({ error: (issue) => `${param} must be a string, got ${describe(issue.input)}` })
    .max(maximum, {
      error: (issue) =>
        `${param} must be at most ${maximum} characters, got ${typeof issue.input === "string" ? issue.input.length : 0}`,
    });
}

/** The same, and not blank. */
export function promptText(param: string, maximum: number) {
  return boundedText(param, maximum).regex(NOT_BLANK, `${param} must not be empty`);
}

export const NOT_BLANK = /\S/;

/** A caller's own words beside a job. */
export const metadataField = atMost(
  16,
  "entries",
  z.record(z.string().max(64), z.string().max(512), { error: "must be an object of strings" }),
);

/** Refuses a list or an object of too many before what is in it is looked at. */
export function atMost<Schema extends z.ZodType>(most: number, things: string, schema: Schema) {
  return z.preprocess((value, context) => {
    const count = typeof value === "object" && value !== null ? Object.keys(value).length : 0;
    if (count <= most) return value;
    context.addIssue(`must have at most ${most} ${things}, got ${count}`);
    return z.NEVER;
  }, schema);
}

/** A boolean, or the word, as multipart forms send it. */
export function booleanWord(param: string) {
  const error = (issue: { readonly input?: unknown }) =>
    `${param} must be true or false, got ${describe(issue.input)}`;
  return z.preprocess(
    (value) => (value === "true" || value === "false" ? value === "true" : value),
    z.boolean({ error }),
  );
}

/**
 * A value that is looked at by hand, for sentences that a union's issues cannot give, with what it must be
 * for the OpenAPI document.
 */
function describedAs<Checked extends z.ZodType>(checked: Checked, schema: z.ZodType): Checked {
  const { $schema: _dialect, ...json } = z.toJSONSchema(schema, { io: "input" });
  return checked.meta(json);
}

/** A short, safe rendering of a refused value for an error message. */
export function describe(value: unknown): string {
  if (typeof value === "string") {
    return value.length > 40 ? `a string of ${value.length} characters` : JSON.stringify(value);
  }
  if (value === null || typeof value === "number" || typeof value === "boolean") return `${value}`;
  if (Array.isArray(value)) return `an array of ${value.length}`;
  return value instanceof Uint8Array ? "bytes" : typeof value;
}

/** Of a value that may be of several types, what is wrong inside the one that it is. */
function innermost(issue: z.core.$ZodIssue): z.core.$ZodIssue {
  if (issue.code !== "invalid_union") return issue;
  const inner = issue.errors.flat().find(({ path }) => path.length > 0);
  return inner === undefined
    ? issue
    : innermost({ ...inner, path: [...issue.path, ...inner.path] });
}

function issueError(issue: z.core.$ZodIssue, body: object): JobError {
  if (issue.code === "unrecognized_keys") {
    const param = [...issue.path, issue.keys[0]].join(".");
    return new JobError("unknown_parameter", `unknown parameter: ${param}`, { param });
  }
  const param = issue.path.join(".");
  const value = issue.path.reduce<unknown>(child, body);
  if (value === undefined) {
    return new JobError("missing_required_parameter", `${param} is required`, { param });
  }
  const named = issue.message.startsWith(param) ? issue.message : `${param}: ${issue.message}`;
  const isWhole = named === issue.message || named.includes(", got ");
  const message = isWhole ? named : `${named}, got ${describe(value)}`;
  return invalidValue(param, message);
}

function child(parent: unknown, key: PropertyKey): unknown {
  return typeof parent === "object" && parent !== null ? Reflect.get(parent, key) : undefined;
}

const MAX_PARTS = 2_048;

/** Names that the two text endpoints give to a piece of text, and the field that holds it. */
const TEXT_FIELDS = new Map([
  ["text", "text"],
  ["input_text", "text"],
  ["output_text", "text"],
  ["refusal", "refusal"],
]);

type TextPart = { readonly type: string } & Readonly<Record<string, unknown>>;

const part = describedAs(
  z
    .custom<TextPart>((value) => typeof child(value, "type") === "string", { abort: true })
    .superRefine((value, context) => {
      const field = TEXT_FIELDS.get(value.type);
      const message =
        field === undefined
          ? `must be text: the models of this endpoint do not read ${value.type.slice(0, 40)} parts`
          : `must have its text in ${field}, got ${describe(value[field])}`;
      if (field === undefined || typeof value[field] !== "string")
        context.addIssue({ code: "custom", message, path: ["type"] });
    }),
  z.union(
    [...TEXT_FIELDS].map(([type, field]) =>
      z.looseObject({ type: z.literal(type), [field]: z.string() }),
    ),
  ),
);

/** A message's content: a string, or parts of text. */
export const textContent = atMost(
  MAX_PARTS,
  "parts",
  z.union([z.string(), z.array(part).max(MAX_PARTS)], {
    error: (issue) => `must be a string or an array of text parts, got ${describe(issue.input)}`,
  }),
);

/** Parts are joined by line breaks. */
export function textOf(content: z.infer<typeof textContent> | null | undefined): string {
  if (content === null || content === undefined) return "";
  if (typeof content === "string") return content;
  return content.map((value) => String(value[TEXT_FIELDS.get(value.type) ?? "text"])).join("\n");
}

/** Schemas of what several modalities store of a request. */

/** A file that came with the request, in the artifact store. */
export const artifact = z.object({
  id: z.string(),
  variant: z.string(),
  mediaType: z.string(),
  byteLength: z.int().nonnegative(),
  sha256: z.string(),
});

/** There where the caller sent `seconds` as a string, and is answered one. */
export const secondsAsText = z.literal(true).exactOptional();

/** `metadata` as its caller sent it. */
export const metadata = z.record(z.string(), z.string()).readonly().nullable();
