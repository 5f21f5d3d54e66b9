interface Piece {
  /** Line of its first line of code on the page, from 1. */
  readonly line: number;
  readonly code: string;
}

/** One shell runs all of a page's blocks: what one exports, the next ones know. */
export function shellScript(page: string, blocks: readonly Piece[]): string;

/** One module of all of a page's blocks: the first one's names are known to the others. */
export function moduleText(blocks: readonly Piece[]): string;
