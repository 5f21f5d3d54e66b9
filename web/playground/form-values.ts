import type { Endpoint, Values } from "./catalogue.js";
import type { Turn } from "./run.js";
import type { Field } from "./schema.js";
import { examplesOf, lengthsOf } from "./words.js";

/** What the form starts with: the endpoint's example, streaming where it can. */
export function initialValues({ path, fields, example, models }: Endpoint): Values {
  const values = fields.map((field) => [field.name, initialValue(field, example)] as const);
  const model = models[0];
  return {
    ...Object.fromEntries(values),
    ...lengthsOf(path),
    ...examplesOf(path)[0]?.values,
    ...("voice" in example && model?.voices?.[0] !== undefined && { voice: model.voices[0] }),
    model: model?.id ?? "",
  };
}

function initialValue({ name, kind }: Field, example: Values): unknown {
  if (name === "stream") return "true";
  if (name === "partial_images") return "2";
  // The example is the smallest request: its bounds are not what a person wants to see.
  if (name.startsWith("max_")) return "";
  const value = example[name];
  if (value === undefined || kind === "file") return "";
  if (name === "messages") return messageText(value);
  if (kind === "lines" && Array.isArray(value)) return value.join("\n");
  return textOf(value);
}

function messageText(value: unknown): string {
  const first: unknown = Array.isArray(value) ? value[0] : undefined;
  return hasContent(first) ? textOf(first.content) : "";
}

function hasContent(value: unknown): value is { readonly content: unknown } {
  return typeof value === "object" && value !== null && "content" in value;
}

/** The request that a form asks for: fields that were left empty are left out. Throws on JSON that is none. */
export function toRequest(
  fields: readonly Field[],
  values: Values,
  before: readonly Turn[] = [],
): Values {
  const streams = values["stream"] === "true";
  const entries = fields.flatMap((field) => {
    const value = values[field.name];
    if (value === "" || value === undefined) return [];
    if (field.name === "partial_images" && !streams) return [];
    if (field.name === "messages")
      return [[field.name, [...before, { role: "user", content: value }]] as const];
    return [[field.name, toValue(field, value)] as const];
  });
  return Object.fromEntries(entries);
}

function toValue({ name, kind }: Field, value: unknown): unknown {
  if (typeof value !== "string") return value;
  if (kind === "number") return Number(value);
  if (kind === "flag") return value === "true";
  if (kind === "lines") return value.split("\n").filter((line) => line.trim() !== "");
  return kind === "json" ? parseJson(name, value) : value;
}

function parseJson(name: string, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new Error(`${name} must be JSON`);
  }
}

/** What a form would hold for a request: all but its seed, which is kept only when that is asked for. */
export function toValues(fields: readonly Field[], request: Values): Values {
  const entries = fields
    .filter(({ name }) => name in request && name !== "seed" && name !== "messages")
    .map(({ name, kind }) => [name, toTyped(kind, request[name])] as const);
  return Object.fromEntries(entries);
}

function toTyped(kind: Field["kind"], value: unknown): unknown {
  if (value instanceof File) return value;
  if (kind === "lines" && Array.isArray(value)) return value.map(textOf).join("\n");
  return textOf(value);
}

/** JSON, or a form where a file is sent. */
export function toBody(request: Values): unknown {
  const entries = Object.entries(request);
  if (!entries.some(([, value]) => value instanceof File)) return request;
  const form = new FormData();
  for (const [name, value] of entries)
    form.append(name, value instanceof File ? value : textOf(value));
  return form;
}

/** A value as it stands in a form. */
export function textOf(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}
