import { GEMMA_QUOTE } from "./syntax.js";

/** Reads values as Python and Gemma 4 write them: strings, numbers, words, lists, and objects. */
export class LiteralReader {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  get isAtEnd(): boolean {
    this.take(/\s*/y);
    return this.#at === this.#text.length;
  }

  /** The next text of this kind, behind blanks; undefined where there is none. `pattern` is sticky. */
  take(pattern: RegExp): string | undefined {
    const blanks = /\s*/y;
    blanks.lastIndex = this.#at;
    pattern.lastIndex = this.#at + (blanks.exec(this.#text)?.[0].length ?? 0);
    const found = pattern.exec(this.#text);
    if (found === null) return undefined;
    this.#at = pattern.lastIndex;
    return found[1] ?? found[0];
  }

  /** Members as `key: value`, or with another mark between, up to the closing bracket, which it reads. */
  members(mark: RegExp, close: RegExp): Record<string, unknown> {
    const members: Record<string, unknown> = {};
    while (this.take(close) === undefined) {
      const key = this.#string() ?? this.#expect(/[\w$.-]+/y);
      this.#expect(mark);
      members[key] = this.value();
      this.#next(close);
    }
    return members;
  }

  /** Throws where no value stands here. */
  value(): unknown {
    const quoted = this.#string();
    if (quoted !== undefined) return quoted;
    if (this.take(/\{/y) !== undefined) return this.members(/:/y, /\}/y);
    if (this.take(/[[(]/y) !== undefined) return this.#items();
    const word = this.#expect(/[^\s,()[\]{}]+/y);
    const known = WORDS.get(word);
    if (known !== undefined) return known;
    const isNumber = /^[-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?$/i.test(word);
    return isNumber ? Number(word) : word;
  }

  #items(): unknown[] {
    const items: unknown[] = [];
    while (this.take(/[\])]/y) === undefined) {
      items.push(this.value());
      this.#next(/[\])]/y);
    }
    return items;
  }

  /** A quote ends a string where what may follow a value follows: some models do not escape those within. */
  #string(): string | undefined {
    const quoted = this.take(GEMMA_STRING);
    if (quoted !== undefined) return quoted;
    const double = this.take(/"((?:[^"\\]|\\[^]|"(?!\s*(?:[,:)\]}]|$)))*)"/y);
    const text = double ?? this.take(/'((?:[^'\\]|\\[^]|'(?!\s*(?:[,:)\]}]|$)))*)'/y);
    return text?.replaceAll(ESCAPE, (_, code: string) => unescape(code));
  }

  #next(close: RegExp): void {
    if (this.take(/,/y) !== undefined) return;
    const at = this.#at;
    this.#expect(close);
    this.#at = at;
  }

  #expect(pattern: RegExp): string {
    const found = this.take(pattern);
    if (found === undefined) throw new SyntaxError(`no value at ${this.#at}`);
    return found;
  }
}

const WORDS = new Map<string, boolean | null>([
  ["true", true],
  ["True", true],
  ["false", false],
  ["False", false],
  ["null", null],
  ["None", null],
]);

const GEMMA_STRING = new RegExp(
  `${escapePattern(GEMMA_QUOTE)}([^]*?)${escapePattern(GEMMA_QUOTE)}`,
  "y",
);

const ESCAPE = /\\(u[\da-fA-F]{4}|x[\da-fA-F]{2}|[^])/g;
const ESCAPED: Readonly<Record<string, string>> = {
  n: "\n",
  r: "\r",
  t: "\t",
  b: "\b",
  f: "\f",
};

function unescape(code: string): string {
  if (code.length > 1) return String.fromCharCode(Number.parseInt(code.slice(1), 16));
  return ESCAPED[code] ?? code;
}

/** A text as a part of a regular expression. */
export function escapePattern(text: string): string {
  return text.replaceAll(/[\\^$.*+?()[\]{}|/-]/g, String.raw`\$&`);
}
