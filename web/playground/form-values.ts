import type { Endpoint, Values } from "./catalogue.js";
import type { Field } from "./schema.js";

/** What the form starts with: the endpoint's example, streaming where it can. */
export function initialValues({ fields, example, models }: Endpoint): Values {
  const values = fields.map((field) => [field.name, initialValue(field, example)] as const);
  const model = models[0];
  return {
    ...Object.fromEntries(values),
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
export function toRequest(fields: readonly Field[], values: Values): Values {
  const streams = values["stream"] === "true";
  const entries = fields.flatMap((field) => {
    const value = values[field.name];
    if (value === "" || value === undefined) return [];
    if (field.name === "partial_images" && !streams) return [];
    return [[field.name, toValue(field, value)] as const];
  });
  return Object.fromEntries(entries);
}

function toValue({ name, kind }: Field, value: unknown): unknown {
  if (typeof value !== "string") return value;
  if (name === "messages") return [{ role: "user", content: value }];
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
