import { z } from "zod";
import type { AnswerPart, ToolCall } from "../request/generation-request.js";
import type { ToolCallFormat } from "../request/request.js";

export interface ToolCallReaderOptions {
  readonly format: ToolCallFormat;
  /** Names that may be called; a call of another stays text. */
  readonly names: ReadonlySet<string>;
  /** Most calls that are read as such; the others are left out. */
  readonly maxCalls: number;
  readonly createId: () => string;
}

/** Tells calls from text in an answer that arrives in pieces. */
interface ToolCallReader {
  readonly callCount: number;
  /** What became certain with this piece. */
  push(text: string): AnswerPart[];
  /** What was held back at the end of the answer. */
  finish(): AnswerPart[];
}

/**
 * Text before a call's marker streams at once, but for what might be the marker's beginning; a call is
 * held back until it is whole. What looks like a call and is none stays text, marker and all. Blanks
 * around calls are left out.
 */
export function createToolCallReader(options: ToolCallReaderOptions): ToolCallReader {
  const syntax = syntaxOf(options.format);
  let pending = "";
  let blank = "";
  let isEmpty = true;
  let callCount = 0;

  const textPart = (text: string): AnswerPart[] => {
    const whole = blank + text;
    const written = whole.trimEnd();
    blank = whole.slice(written.length);
    if (written === "") return [];
    isEmpty = false;
    return [{ type: "text", text: written }];
  };
  const callParts = (raw: string): AnswerPart[] => {
    const calls = readCalls(syntax, raw);
    if (calls === undefined || calls.some(({ name }) => !options.names.has(name)))
      return textPart(raw);
    const kept = calls.slice(0, options.maxCalls - callCount);
    blank = "";
    isEmpty = false;
    callCount += kept.length;
    return kept.map((call) => ({ type: "call", call: { id: options.createId(), ...call } }));
  };
  const take = (atEnd: boolean): AnswerPart[] => {
    const parts: AnswerPart[] = [];
    while (pending !== "") {
      const { text, call } = nextPiece(syntax, pending, { atEnd, isEmpty });
      if (text === 0 && call === 0) break;
      parts.push(...textPart(pending.slice(0, text)));
      if (call > 0) parts.push(...callParts(pending.slice(text, text + call)));
      pending = pending.slice(text + call);
    }
    return parts;
  };
  return {
    get callCount() {
      return callCount;
    },
    push(text) {
      pending += text;
      return take(false);
    },
    finish() {
      const parts = take(true);
      if (callCount === 0 && blank !== "") parts.push({ type: "text", text: blank });
      blank = "";
      return parts;
    },
  };
}

interface Place {
  readonly atEnd: boolean;
  /** Nothing but blanks was written so far. */
  readonly isEmpty: boolean;
}

/** Characters that are certain to be text, and after them those of a whole call; 0 and 0 to wait. */
function nextPiece(
  syntax: ToolCallSyntax,
  pending: string,
  { atEnd, isEmpty }: Place,
): { readonly text: number; readonly call: number } {
  const start = callStart(syntax, pending, isEmpty);
  if (start === undefined) {
    const held = atEnd ? 0 : heldLength(syntax.begins, pending);
    return { text: pending.length - held, call: 0 };
  }
  const length = callLength(syntax, pending.slice(start));
  if (length !== undefined) return { text: start, call: length };
  return { text: start, call: atEnd ? pending.length - start : 0 };
}

function callStart(
  { begins, bareObject }: ToolCallSyntax,
  pending: string,
  isEmpty: boolean,
): number | undefined {
  const bare = bareObject && isEmpty ? /^\s*\{/.exec(pending) : null;
  if (bare !== null) return bare[0].length - 1;
  const starts = begins.map((begin) => pending.indexOf(begin)).filter((index) => index >= 0);
  return starts.length === 0 ? undefined : Math.min(...starts);
}

/** Length of the end of a text that may be the beginning of a marker. */
function heldLength(begins: readonly string[], text: string): number {
  const lengths = begins.map((begin) => {
    let length = Math.min(begin.length - 1, text.length);
    while (length > 0 && !begin.startsWith(text.slice(-length))) length -= 1;
    return length;
  });
  return Math.max(0, ...lengths);
}

/** Length of the call that a text begins with; undefined while it is not whole. */
function callLength(syntax: ToolCallSyntax, text: string): number | undefined {
  const marker = markerOf(syntax, text);
  if (syntax.end !== null) {
    const end = text.indexOf(syntax.end, marker.length);
    return end < 0 ? undefined : end + syntax.end.length;
  }
  const end = jsonEnd(text, marker.length + nameLength(syntax, text.slice(marker.length)));
  // What follows the marker is no JSON: the marker alone is taken, and turns out to be no call.
  return end === null ? Math.max(1, marker.length) : end;
}

function markerOf({ begins }: ToolCallSyntax, text: string): string {
  return begins.find((begin) => text.startsWith(begin)) ?? "";
}

function nameLength({ nameEnd }: ToolCallSyntax, text: string): number {
  if (nameEnd === null) return 0;
  const end = text.search(/[[{]/);
  if (end < 0) return text.length;
  return text.startsWith(nameEnd, end) ? end + nameEnd.length : end;
}

const call = z.union([
  z
    .object({ name: z.string(), arguments: z.record(z.string(), z.unknown()) })
    .transform((value) => ({ name: value.name, arguments: JSON.stringify(value.arguments) })),
  z
    .object({ name: z.string(), parameters: z.record(z.string(), z.unknown()) })
    .transform((value) => ({ name: value.name, arguments: JSON.stringify(value.parameters) })),
]);
const calls = z.union([z.array(call).min(1), call.transform((only) => [only])]);

/** The calls of a piece of text from marker to end; undefined where it is malformed. */
function readCalls(syntax: ToolCallSyntax, raw: string): Omit<ToolCall, "id">[] | undefined {
  const afterMarker = raw.slice(markerOf(syntax, raw).length);
  const isClosed = syntax.end !== null && afterMarker.endsWith(syntax.end);
  const body = isClosed ? afterMarker.slice(0, -(syntax.end?.length ?? 0)) : afterMarker;
  if (syntax.nameEnd === null) return calls.safeParse(parseJson(body)).data;
  const json = nameLength(syntax, body);
  const name = body.slice(0, json).replace(syntax.nameEnd, "").trim();
  return calls.safeParse({ name, arguments: parseJson(body.slice(json)) }).data;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Strings with their escapes, brackets, and anything else, one at a time. */
const PIECE = /"(?:[^"\\]|\\[^])*("?)|[[{]|[\]}]|[^]/gu;

/**
 * Where the object or array of JSON ends that begins at `from`, blanks aside: the index after its last
 * bracket; undefined while it is open; null where there is none.
 */
function jsonEnd(text: string, from: number): number | undefined | null {
  let depth = 0;
  for (const { 0: piece, 1: quote, index } of text.slice(from).matchAll(PIECE)) {
    if (piece === "{" || piece === "[") depth += 1;
    else if (depth === 0 && piece.trim() !== "") return null;
    else if (piece === "}" || piece === "]") depth -= 1;
    else continue;
    if (depth === 0) return from + index + piece.length;
    if (quote === "") return undefined;
  }
  return undefined;
}

/** How calls stand in a text. */
export interface ToolCallSyntax {
  readonly begins: readonly string[];
  /** Text after a call; null where a call ends with its JSON. */
  readonly end: string | null;
  /** Whether an answer that is an object of JSON is a call without a marker. */
  readonly bareObject: boolean;
  /** Whether one marker opens an array of calls. */
  readonly list: boolean;
  /** Text between a name and the JSON of its arguments; null where the JSON holds the name. */
  readonly nameEnd: string | null;
  readonly argumentsKey: "arguments" | "parameters";
  /** Whether the markers are special tokens, which are written out only when asked for. */
  readonly special: boolean;
}

const object = {
  end: null,
  bareObject: false,
  list: false,
  nameEnd: null,
  argumentsKey: "arguments",
  special: false,
} as const;

const SYNTAXES: Readonly<Record<ToolCallFormat, ToolCallSyntax>> = {
  hermes: { ...object, begins: ["<tool_call>"], end: "</tool_call>" },
  phi: { ...object, begins: ["<|tool_call|>"], end: "<|/tool_call|>", list: true, special: true },
  mistral: { ...object, begins: ["[TOOL_CALLS]"], list: true, special: true },
  "mistral-args": { ...object, begins: ["[TOOL_CALLS]"], nameEnd: "[ARGS]", special: true },
  llama: {
    ...object,
    begins: ["<|python_tag|>"],
    bareObject: true,
    argumentsKey: "parameters",
    special: true,
  },
};

export function syntaxOf(format: ToolCallFormat): ToolCallSyntax {
  return SYNTAXES[format];
}

/** What stands around calls: tokens, or text to a tokenizer that has none. */
export function callMarkers(format: ToolCallFormat): string[] {
  const { begins, end, nameEnd } = syntaxOf(format);
  return [...begins, end, nameEnd].filter((marker) => marker !== null);
}

/** The format whose markers a chat template writes; undefined where it knows no calls. */
export function detectFormat(template: string): ToolCallFormat | undefined {
  if (template.includes("<tool_call>")) return "hermes";
  if (template.includes("<|tool_call|>")) return "phi";
  if (template.includes("[TOOL_CALLS]"))
    return template.includes("[ARGS]") ? "mistral-args" : "mistral";
  const isLlama = template.includes("<|start_header_id|>") && template.includes('"parameters"');
  return isLlama || template.includes("<|python_tag|>") ? "llama" : undefined;
}
