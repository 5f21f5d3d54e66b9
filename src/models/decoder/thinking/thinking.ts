import { heldLength } from "../held-length.js";
import { createHarmonyReader, HARMONY_TOKENS } from "./harmony.js";
import type { MarkedThinking, ThinkingSpec } from "../request/request.js";
import type { ThinkingReader, ThoughtPiece } from "./thinking-reader.js";

/** What stands around thoughts: tokens, or text to a tokenizer that has none. */
export function thinkingMarkers(spec: ThinkingSpec): readonly string[] {
  return spec.form === "harmony" ? HARMONY_TOKENS : [spec.begin, spec.end];
}

/** Without a specification everything is answer. */
export function createThinkingReader(spec: ThinkingSpec | undefined): ThinkingReader {
  if (spec === undefined) return ANSWER_ONLY;
  return spec.form === "harmony" ? createHarmonyReader() : createMarkedReader(spec);
}

function createMarkedReader({ begin, end, isBegun }: MarkedThinking): ThinkingReader {
  let state: ThinkingReader["state"] = isBegun ? "thoughts" : "undecided";
  let pending = "";
  /** Blanks are left out where nothing else was written since the marker. */
  let isBlank = true;

  const takeBegin = (atEnd: boolean): void => {
    const written = pending.trimStart();
    if (!atEnd && written.length < begin.length && begin.startsWith(written)) return;
    state = written.startsWith(begin) ? "thoughts" : "answer";
    if (state === "thoughts") pending = written.slice(begin.length);
    else isBlank = false;
  };
  const takeThoughts = (atEnd: boolean): string => {
    const at = pending.indexOf(end);
    const certain = pending.length - (atEnd ? 0 : heldLength(pending, [end]));
    const written = pending.slice(0, at < 0 ? certain : at).trimEnd();
    pending = pending.slice(at < 0 ? written.length : at + end.length);
    const thoughts = isBlank ? written.trimStart() : written;
    isBlank &&= thoughts === "";
    if (at >= 0) {
      state = "answer";
      isBlank = true;
    }
    return thoughts;
  };
  const takeAnswer = (): string => {
    const text = isBlank ? pending.trimStart() : pending;
    isBlank &&= text === "";
    pending = "";
    return text;
  };
  const take = (atEnd: boolean): ThoughtPiece => {
    if (state === "undecided") takeBegin(atEnd);
    const reasoning = state === "thoughts" ? takeThoughts(atEnd) : "";
    return { reasoning, text: state === "answer" ? takeAnswer() : "" };
  };
  return {
    get state() {
      return state;
    },
    push(piece) {
      pending += piece;
      return take(false);
    },
    flush: () => take(true),
  };
}

const ANSWER_ONLY: ThinkingReader = {
  state: "answer",
  push: (text) => ({ reasoning: "", text }),
  flush: () => ({ reasoning: "", text: "" }),
};
