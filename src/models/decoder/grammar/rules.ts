/** What a text may be, as a tree; texts are bytes of UTF-8. */
export type Rule =
  | { readonly type: "bytes"; readonly bytes: Uint8Array }
  | { readonly type: "characters"; readonly ranges: readonly CharacterRange[] }
  | { readonly type: "sequence"; readonly rules: readonly Rule[] }
  | { readonly type: "choice"; readonly rules: readonly Rule[] }
  | {
      readonly type: "repeat";
      readonly rule: Rule;
      readonly minimum: number;
      /** Null for any number. */
      readonly maximum: number | null;
    }
  | { readonly type: "reference"; readonly name: string }
  | FreeText;

/** Any bytes in which none of the markers stand; `notFirst` does not begin them, blanks aside. */
export interface FreeText {
  readonly type: "free";
  readonly markers: readonly Uint8Array[];
  readonly notFirst: string | null;
}

/** First and last code point, both within. */
export type CharacterRange = readonly [number, number];

/** A rule, and those that it refers to by name. */
export interface Grammar {
  readonly root: Rule;
  readonly rules: ReadonlyMap<string, Rule>;
}

/** Stands before the text of a special token, to tell the token from its text: no byte of UTF-8. */
export const SPECIAL_BYTE = 0xff;

export const EMPTY: Rule = { type: "sequence", rules: [] };

export function text(value: string): Rule {
  return { type: "bytes", bytes: Buffer.from(value, "utf8") };
}

/** A special token by its name. */
function specialToken(name: string): Rule {
  return { type: "bytes", bytes: Buffer.from([SPECIAL_BYTE, ...Buffer.from(name, "utf8")]) };
}

/** A marker as its special token, or as text for a model that has no such token. */
export function marker(value: string): Rule {
  return choice(specialToken(value), text(value));
}

/** Any text without special tokens, up to a marker. */
export function freeText(end: string): Rule {
  const markers = [Buffer.from(end), Uint8Array.of(SPECIAL_BYTE)];
  return { type: "free", markers, notFirst: null };
}

export function characters(...ranges: readonly CharacterRange[]): Rule {
  return { type: "characters", ranges };
}

/** Characters between two, each given as a string of one. */
export function between(first: string, last: string): CharacterRange {
  return [first.codePointAt(0) ?? 0, last.codePointAt(0) ?? 0];
}

export function sequence(...rules: readonly Rule[]): Rule {
  return { type: "sequence", rules };
}

export function choice(...rules: readonly Rule[]): Rule {
  const only = rules.length === 1 ? rules[0] : undefined;
  return only ?? { type: "choice", rules };
}

export function optional(rule: Rule): Rule {
  return choice(EMPTY, rule);
}

export function repeat(rule: Rule, minimum: number, maximum: number | null = null): Rule {
  return { type: "repeat", rule, minimum, maximum };
}

export function reference(name: string): Rule {
  return { type: "reference", name };
}

const LENGTH_LIMITS = [0x7f, 0x7ff, 0xffff, 0x10ffff];
const SURROGATES: CharacterRange = [0xd800, 0xdfff];

/** Sequences of byte ranges that together are the UTF-8 of a range of characters (Cox, RE2: utf8-ranges). */
export function utf8Ranges([first, last]: CharacterRange): CharacterRange[][] {
  if (first > last) return [];
  const [low, high] = SURROGATES;
  if (first <= high && last >= low)
    return [...utf8Ranges([first, low - 1]), ...utf8Ranges([high + 1, last])];
  const limit = LENGTH_LIMITS.find((end) => first <= end && end < last);
  if (limit !== undefined) return [...utf8Ranges([first, limit]), ...utf8Ranges([limit + 1, last])];
  return splitRange(encodeCharacter(first), encodeCharacter(last));
}

function encodeCharacter(codePoint: number): number[] {
  return [...Buffer.from(String.fromCodePoint(codePoint), "utf8")];
}

function splitRange(first: readonly number[], last: readonly number[]): CharacterRange[][] {
  const [from = 0, ...restFirst] = first;
  const [to = 0, ...restLast] = last;
  if (restFirst.length === 0) return [[[from, to]]];
  const least = restFirst.map(() => 0x80);
  const greatest = restFirst.map(() => 0xbf);
  if (from === to)
    return splitRange(restFirst, restLast).map((rest) => [[from, from] as const].concat(rest));
  const whole = (bytes: readonly number[], edge: readonly number[]) =>
    bytes.every((byte, index) => byte === edge[index]);
  const low = whole(restFirst, least) ? from : from + 1;
  const high = whole(restLast, greatest) ? to : to - 1;
  const middle: CharacterRange[] = least.map(() => [0x80, 0xbf]);
  return [
    ...(low > from ? splitRange(first, [from, ...greatest]) : []),
    ...(low <= high ? [[[low, high] as const, ...middle]] : []),
    ...(high < to ? splitRange([to, ...least], last) : []),
  ];
}
