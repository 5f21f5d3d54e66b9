/** Breaks up in a text what reads like a token of structure, by a mark that is no part of the text. */
export interface TokenBreaker {
  /**
   * The text with the mark behind every character that may begin such a token, where there is one; and at
   * its ends, where what is written beside it could complete one. Other texts come back as they are.
   */
  (text: string, mark: string): string;
}

/** Case and width do not count: a tokenizer may normalise a text before it looks for its tokens. */
export function createTokenBreaker(tokens: readonly string[]): TokenBreaker {
  const folded = [...new Set(tokens.map(fold))].filter((token) => token.length > 1);
  if (folded.length === 0) return (text) => text;
  const anyToken = new RegExp(folded.map(escape).join("|"));
  const firsts = new Set(folded.map((token) => String.fromCodePoint(token.codePointAt(0) ?? 0)));
  const longest = Math.max(...folded.map(({ length }) => length));
  const beginnings = new Set(folded.flatMap((token) => parts(token, (at) => token.slice(0, at))));
  const ends = new Set(folded.flatMap((token) => parts(token, (at) => token.slice(at))));
  const beginsToken = remember((character) =>
    Array.from(fold(character)).some((one) => firsts.has(one)),
  );
  const hasTokenStart = (text: string) => {
    const tail = fold(text.slice(-longest));
    return (
      parts(tail, (at) => tail.slice(at)).some((end) => beginnings.has(end)) || beginnings.has(tail)
    );
  };
  const hasTokenEnd = (text: string) => {
    const head = fold(text.slice(0, longest));
    return (
      parts(head, (at) => head.slice(0, at)).some((begin) => ends.has(begin)) || ends.has(head)
    );
  };
  return (text, mark) => {
    if (text === "") return text;
    const apart = anyToken.test(fold(text))
      ? text.replaceAll(/./gsu, (one) => (beginsToken(one) ? one + mark : one))
      : text;
    return `${hasTokenEnd(text) ? mark : ""}${apart}${hasTokenStart(text) ? mark : ""}`;
  };
}

/** A character of the private use area that stands in none of the texts. */
export function findMark(texts: string): string {
  for (let code = 0xe000; code < 0xf900; code += 1) {
    const mark = String.fromCharCode(code);
    // JSON within JSON may still have it escaped.
    if (!texts.includes(mark) && !texts.toLowerCase().includes(`u${code.toString(16)}`))
      return mark;
  }
  throw new Error("the texts use every character of the private use area");
}

/** What of a token is shorter than it: `cut` at each place within. */
function parts(token: string, cut: (at: number) => string): string[] {
  return Array.from({ length: Math.max(0, token.length - 1) }, (_, index) => cut(index + 1));
}

function fold(text: string): string {
  return text.normalize("NFKC").toLowerCase();
}

function escape(text: string): string {
  return text.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`);
}

function remember(ask: (character: string) => boolean): (character: string) => boolean {
  const known = new Map<string, boolean>();
  return (character) => {
    const answer = known.get(character) ?? ask(character);
    known.set(character, answer);
    return answer;
  };
}
