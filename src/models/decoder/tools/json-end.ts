/** Strings with their escapes, brackets, and anything else, one at a time. */
const PIECE = /"(?:[^"\\]|\\[^])*("?)|[[{]|[\]}]|[^]/gu;

/**
 * Where the object or array of JSON ends that begins at `from`, blanks aside: the index after its last
 * bracket; undefined while it is open; null where there is none.
 */
export function jsonEnd(text: string, from: number): number | undefined | null {
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
