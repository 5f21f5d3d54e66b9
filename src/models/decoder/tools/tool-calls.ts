import type { AnswerPart } from "../request/generation-request.js";
import type { ToolCallFormat } from "../request/request.js";
import { heldLength } from "../held-length.js";
import { type CallableTools, readCalls } from "./read-calls.js";
import { syntaxOf, type ToolCallSyntax } from "./syntax.js";

export interface ToolCallReaderOptions {
  readonly format: ToolCallFormat;
  /** Functions that may be called; a call of another stays text. */
  readonly tools: CallableTools;
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
    const calls = readCalls(syntax, bodyOf(syntax, raw), options.tools);
    if (calls === undefined || calls.some(({ name }) => !options.tools.has(name)))
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
    const held = atEnd ? 0 : heldLength(pending, syntax.begins);
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

/** Of what stands between a marker and the JSON of a call. */
function nameLength({ arguments: form, inner }: ToolCallSyntax, text: string): number {
  if (form === "object") return 0;
  const end = text.search(/[[{]/);
  if (end < 0) return text.length;
  const marker = inner.find((one) => text.startsWith(one, end)) ?? "";
  return end + marker.length;
}

/** What stands between the markers of a call. */
function bodyOf(syntax: ToolCallSyntax, raw: string): string {
  const afterMarker = raw.slice(markerOf(syntax, raw).length);
  const { end } = syntax;
  return end !== null && afterMarker.endsWith(end)
    ? afterMarker.slice(0, -end.length)
    : afterMarker;
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
