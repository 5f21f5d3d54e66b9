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
