import type { ThinkingSpec } from "./request/request.js";

/** Thoughts and answer of a text, without the markers between them and the blanks beside those. */
export interface ThoughtPiece {
  readonly reasoning: string;
  readonly text: string;
}

/** Tells thoughts from the answer in a text that arrives in pieces. */
export interface ThinkingReader {
  /** What is being written; undecided while it may become either. */
  readonly state: "undecided" | "thoughts" | "answer";
  /** What became certain with this piece. */
  push(piece: string): ThoughtPiece;
  /** What was held back at the end. */
  flush(): ThoughtPiece;
}

/** Without a specification everything is answer. */
export function createThinkingReader(spec: ThinkingSpec | undefined): ThinkingReader {
  if (spec === undefined) return ANSWER_ONLY;
  const { begin, end, isBegun } = spec;
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
    const certain = pending.length - (atEnd ? 0 : beginningLength(pending, end));
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

/** Length of the longest end of the text that is the beginning of a marker. */
function beginningLength(text: string, marker: string): number {
  let length = Math.min(marker.length - 1, text.length);
  while (length > 0 && !marker.startsWith(text.slice(-length))) length -= 1;
  return length;
}
