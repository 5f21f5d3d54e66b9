import { GEMMA_QUOTE, type MemberForm, piecesOf, syntaxOf } from "./syntax.js";
import type { ToolCallFormat } from "../request/request.js";

interface Call {
  readonly name: string;
  /** JSON text. */
  readonly arguments: string;
}

/** Calls as a model of this format writes them. */
export function writeCalls(format: ToolCallFormat, calls: readonly Call[]): string {
  const { begins, end, list, call: template, arguments: form, bareObject } = syntaxOf(format);
  const begin = bareObject ? "" : (begins[0] ?? "");
  const written = calls.map((call, index) => {
    const own = typeof form === "string" ? call.arguments : writeMembers(form, call.arguments);
    return fill(template, { name: call.name, index: String(index), arguments: own });
  });
  const between = (texts: readonly string[]) => `${begin}${texts.join("")}${end ?? ""}`;
  if (list === null) return written.map((one) => between([one])).join("\n");
  return between([list.open, written.join(list.between), list.close]);
}

function fill(template: string, places: Readonly<Record<string, string>>): string {
  return piecesOf(template)
    .map((piece) => places[piece] ?? piece)
    .join("");
}

function writeMembers(form: MemberForm, json: string): string {
  const members = Object.entries(parseObject(json)).map(([key, value]) =>
    fill(form.member, { key, value: writeValue(value, form.values) }),
  );
  return members.join(form.between);
}

function parseObject(json: string): object {
  try {
    const value: unknown = JSON.parse(json);
    return typeof value === "object" && value !== null ? value : {};
  } catch {
    return {};
  }
}

function writeValue(value: unknown, values: MemberForm["values"]): string {
  if (values === "gemma") return writeGemma(value);
  if (values === "raw" && typeof value === "string") return value;
  const json = JSON.stringify(value);
  return values === "python" ? (PYTHON_WORDS.get(json) ?? json) : json;
}

const PYTHON_WORDS = new Map([
  ["true", "True"],
  ["false", "False"],
  ["null", "None"],
]);

function writeGemma(value: unknown): string {
  if (typeof value === "string") return `${GEMMA_QUOTE}${value}${GEMMA_QUOTE}`;
  if (Array.isArray(value)) return `[${value.map(writeGemma).join(",")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const members = Object.entries(value).map(([key, own]) => `${key}:${writeGemma(own)}`);
  return `{${members.join(",")}}`;
}
