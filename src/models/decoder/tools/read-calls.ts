import { z } from "zod";
import type { ToolCall } from "../request/generation-request.js";
import { escapePattern, LiteralReader } from "./literals.js";
import { type MemberForm, piecesOf, type ToolCallSyntax } from "./syntax.js";

/** A call as it is written, before it has an id. */
type WrittenCall = Omit<ToolCall, "id">;

/** JSON schemas of the arguments, by function; null for one without any. */
export type CallableTools = ReadonlyMap<string, unknown>;

/** The calls between their markers; undefined where they are malformed. */
export function readCalls(
  syntax: ToolCallSyntax,
  body: string,
  tools: CallableTools,
): WrittenCall[] | undefined {
  if (syntax.arguments === "object") return objects.safeParse(parseJson(body)).data;
  try {
    return typeof syntax.arguments === "object" && syntax.arguments.values === "python"
      ? readPython(body)
      : readWritten(syntax, body, tools);
  } catch {
    return undefined;
  }
}

const args = z.record(z.string(), z.unknown());
const object = z
  .union([
    z.object({ name: z.string(), arguments: args }),
    z
      .object({ name: z.string(), parameters: args })
      .transform(({ name, parameters }) => ({ name, arguments: parameters })),
    z
      .object({ tool_name: z.string(), parameters: args })
      .transform(({ tool_name: name, parameters }) => ({ name, arguments: parameters })),
  ])
  .transform((call) => ({ name: call.name, arguments: JSON.stringify(call.arguments) }));
const objects = z.union([z.array(object).min(1), object.transform((only) => [only])]);

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Reads by the syntax's own template. Throws where the text is written otherwise. */
function readWritten(syntax: ToolCallSyntax, body: string, tools: CallableTools): WrittenCall[] {
  const calls: WrittenCall[] = [];
  const pattern = callPattern(syntax);
  let at = 0;
  for (const { index, 0: whole, groups = {} } of body.matchAll(pattern)) {
    if (index !== at) break;
    at += whole.length;
    const { name = "", arguments: written = "" } = groups;
    const own = readArguments(syntax, written, tools.get(name));
    calls.push({ name, arguments: JSON.stringify(own) });
  }
  if (calls.length === 0 || body.slice(at).trim() !== "") throw new SyntaxError("no call");
  return calls;
}

/** What has its own markers is one call; others follow each other. */
function callPattern({ call, list }: ToolCallSyntax): RegExp {
  const places: Readonly<Record<string, string>> = {
    name: String.raw`(?<name>[\w.-]+)`,
    index: String.raw`\d*`,
    arguments: "(?<arguments>[^]*?)",
  };
  const pieces = piecesOf(call).map(
    (piece) => places[piece] ?? blanksAside(piece, String.raw`\s*`),
  );
  return new RegExp(`\\s*${pieces.join("")}\\s*${list === null ? "$" : ""}`, "g");
}

/** A text as a pattern that takes other blanks, too, where it has some. */
function blanksAside(text: string, blanks: string): string {
  return text.split(/\s+/).map(escapePattern).join(blanks);
}

function readArguments(
  { arguments: form }: ToolCallSyntax,
  written: string,
  schema: unknown,
): Record<string, unknown> {
  if (typeof form === "string") return args.parse(written.trim() === "" ? {} : JSON.parse(written));
  if (form.values === "raw") return readMembers(form, written, schema);
  const reader = new LiteralReader(`${written}}`);
  const members = reader.members(/:/y, /\}/y);
  if (!reader.isAtEnd) throw new SyntaxError("more follows the arguments");
  return members;
}

function readMembers(
  { member }: MemberForm,
  written: string,
  schema: unknown,
): Record<string, unknown> {
  const places: Readonly<Record<string, string>> = {
    key: String.raw`(?<key>[^\n<>]+)`,
    value: "(?<value>[^]*?)",
  };
  const pieces = piecesOf(member.trimEnd()).map(
    (piece) => places[piece] ?? blanksAside(piece, String.raw`\n?`),
  );
  const pattern = new RegExp(pieces.join(""), "g");
  if (written.replaceAll(pattern, "").trim() !== "") throw new SyntaxError("no arguments");
  const found = [...written.matchAll(pattern)].map(({ groups: { key = "", value = "" } = {} }) => {
    return [key.trim(), typedValue(value, propertyOf(schema, key.trim()))] as const;
  });
  return Object.fromEntries(found);
}

/** `[name(key=value, …), …]`, as Python would call them. */
function readPython(body: string): WrittenCall[] {
  const reader = new LiteralReader(body);
  const calls: WrittenCall[] = [];
  const isList = reader.take(/\[/y) !== undefined;
  do {
    const name = reader.take(/([\w.-]+)\s*\(/y);
    if (name === undefined) throw new SyntaxError("no call");
    calls.push({ name, arguments: JSON.stringify(reader.members(/=/y, /\)/y)) });
  } while (reader.take(/[,;]/y) !== undefined);
  if (isList && reader.take(/\]/y) === undefined) throw new SyntaxError("the list is open");
  if (!reader.isAtEnd) throw new SyntaxError("more follows the calls");
  return calls;
}

type Schema = Readonly<Record<string, unknown>>;

const isSchema = (value: unknown): value is Schema => typeof value === "object" && value !== null;

function propertyOf(schema: unknown, key: string): unknown {
  const properties = isSchema(schema) ? schema["properties"] : undefined;
  return isSchema(properties) && Object.hasOwn(properties, key) ? properties[key] : STRING;
}

const STRING = { type: "string" };

/** The types that a schema names, within its alternatives, too; none where it leaves them open. */
export function typesOf(schema: unknown): ReadonlySet<unknown> {
  if (!isSchema(schema)) return new Set();
  const { type, anyOf, oneOf, enum: values, const: only } = schema;
  if (type !== undefined) return new Set([type].flat());
  const alternatives = [anyOf, oneOf].find((list) => Array.isArray(list));
  if (Array.isArray(alternatives))
    return new Set(alternatives.flatMap((one) => Array.from(typesOf(one))));
  const known = only === undefined ? values : [only];
  return new Set(Array.isArray(known) ? known.map(typeOf) : []);
}

function typeOf(value: unknown): string {
  if (value === null) return "null";
  return Array.isArray(value) ? "array" : typeof value;
}

/** A written argument as its schema says; a text where it is no value of another type that may stand there. */
function typedValue(written: string, schema: unknown): unknown {
  const types = typesOf(schema);
  const value = WORDS.has(written.trim()) ? WORDS.get(written.trim()) : parseJson(written);
  if (value === undefined || typeof value === "string") return written;
  const type = typeOf(value);
  const isFitting =
    types.size === 0 || types.has(type) || (type === "number" && types.has("integer"));
  return isFitting ? value : written;
}

/** As Python writes them. */
const WORDS = new Map<string, unknown>([
  ["True", true],
  ["False", false],
  ["None", null],
]);
