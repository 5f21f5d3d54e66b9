import { heldLength } from "../held-length.js";
import type { ThinkingReader, ThoughtPiece } from "./thinking-reader.js";

/** Tokens of structure of gpt-oss' Harmony (OpenAI, openai-harmony). */
export const HARMONY_TOKENS = [
  "<|start|>",
  "<|channel|>",
  "<|constrain|>",
  "<|message|>",
  "<|end|>",
  "<|call|>",
  "<|return|>",
] as const;

/** How an answer of several messages may begin: behind the `<|start|>assistant` of its prompt. */
const BEGINS = ["<|start|>", "<|channel|>", "<|message|>", "to="];
const MESSAGE = "<|message|>";
const ENDS = ["<|end|>", "<|call|>", "<|return|>", "<|start|>"];

/** What is done with a message, by its header. */
type Message = "thoughts" | "answer" | "call";

/**
 * Tells the channels of an answer apart: analysis is thoughts, final and what is said before calls is
 * answer. A call stays text in one form of several: `<|channel|>commentary to=functions.…`.
 */
export function createHarmonyReader(): ThinkingReader {
  let place: "start" | "header" | Message = "start";
  let pending = "";
  const written = { thoughts: false, answer: false, call: false };

  const takeStart = (atEnd: boolean): boolean => {
    const text = pending.trimStart();
    const isBegin = BEGINS.some((begin) => text.startsWith(begin));
    const mayBegin = BEGINS.some((begin) => begin.startsWith(text));
    if (!isBegin && mayBegin && !atEnd) return false;
    // A model that was trained on other texts since.
    place = isBegin ? "header" : "answer";
    return true;
  };
  const takeHeader = (piece: MutablePiece): boolean => {
    const end = pending.indexOf(MESSAGE);
    if (end < 0) return false;
    const header = pending.slice(0, end);
    pending = pending.slice(end + MESSAGE.length);
    const [, name] = /\bto=functions\.([\w-]+)/.exec(header) ?? [];
    const isThoughts = /<\|channel\|>\s*analysis\b|\bto=/.test(header);
    if (name !== undefined) {
      place = "call";
      piece.text += `<|channel|>commentary to=functions.${name} <|constrain|>json${MESSAGE}`;
      return true;
    }
    place = isThoughts ? "thoughts" : "answer";
    if (written[place]) piece[place === "thoughts" ? "reasoning" : "text"] += "\n";
    return true;
  };
  const takeBody = (piece: MutablePiece, atEnd: boolean): boolean => {
    const found = ENDS.map((marker) => ({ marker, at: pending.indexOf(marker) }))
      .filter(({ at }) => at >= 0)
      .toSorted((one, other) => one.at - other.at)[0];
    const held = atEnd ? 0 : heldLength(pending, ENDS);
    const end = found?.at ?? pending.length - held;
    const text = pending.slice(0, end);
    if (place === "thoughts") piece.reasoning += text;
    else piece.text += text;
    if (place !== "start" && place !== "header") written[place] ||= text !== "";
    pending = pending.slice(found === undefined ? end : end + found.marker.length);
    if (found === undefined) return false;
    if (place === "call") piece.text += "<|call|>";
    place = "header";
    return true;
  };
  const take = (atEnd: boolean): ThoughtPiece => {
    const piece = { reasoning: "", text: "" };
    const takeNext = (): boolean => {
      if (place === "start") return takeStart(atEnd);
      return place === "header" ? takeHeader(piece) : takeBody(piece, atEnd);
    };
    while (pending !== "" && takeNext());
    return piece;
  };
  return {
    get state() {
      if (place === "start") return "undecided";
      return place === "answer" || place === "call" ? "answer" : "thoughts";
    },
    push(text) {
      pending += text;
      return take(false);
    },
    flush: () => take(true),
  };
}

interface MutablePiece {
  reasoning: string;
  text: string;
}
