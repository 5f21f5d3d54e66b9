/** Tokens [first, end) that make a word, with the space before it and the punctuation around it. */
export interface WordSpan {
  readonly text: string;
  readonly first: number;
  readonly end: number;
}

/** Written without spaces: each character is a word. */
const SPACELESS = new Set(["zh", "ja", "th", "lo", "my", "yue"]);
const OPENING = /^\s*["'“‘¿¡([{«„-]+$/u;
const CLOSING = /^["'.。,,，!！?？::：;；”’)\]}»、…]+$/u;

/**
 * Groups tokens into words: at spaces, or at every character of languages that have none. Tokens that
 * are parts of one character stay together; punctuation joins the word that it belongs to.
 */
export function groupWords(
  ids: readonly number[],
  decode: (ids: readonly number[]) => string,
  language: string | null,
): WordSpan[] {
  const characters = wholeCharacters(ids, decode);
  const words: WordSpan[] = [];
  for (const part of characters) {
    const last = words.at(-1);
    const startsWord = SPACELESS.has(language ?? "") || /^\s/.test(part.text);
    if (last !== undefined && !startsWord) words.splice(-1, 1, joined(last, part));
    else words.push(part);
  }
  return joinPunctuation(words);
}

/** The smallest runs of tokens that decode to whole characters. */
function wholeCharacters(
  ids: readonly number[],
  decode: (ids: readonly number[]) => string,
): WordSpan[] {
  const parts: WordSpan[] = [];
  let first = 0;
  for (let end = 1; end <= ids.length; end++) {
    const text = decode(ids.slice(first, end));
    if (text.includes("\u{fffd}") && end < ids.length) continue;
    parts.push({ text, first, end });
    first = end;
  }
  return parts;
}

function joinPunctuation(words: readonly WordSpan[]): WordSpan[] {
  const all: WordSpan[] = [];
  for (const word of words) {
    const last = all.at(-1);
    const belongs = last !== undefined && (CLOSING.test(word.text) || OPENING.test(last.text));
    if (belongs && !/^\s/.test(word.text)) all.splice(-1, 1, joined(last, word));
    else all.push(word);
  }
  return all;
}

function joined(one: WordSpan, next: WordSpan): WordSpan {
  return { text: one.text + next.text, first: one.first, end: next.end };
}
