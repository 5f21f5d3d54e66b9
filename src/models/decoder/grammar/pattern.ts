import { PLAIN_CHARACTERS, STRING_CHARACTER } from "./json.js";
import {
  between,
  type CharacterRange,
  characters,
  choice,
  EMPTY,
  repeat,
  type Rule,
  sequence,
  text,
} from "./rules.js";

/**
 * Last character of classes that name what they exclude: beyond it, readers of patterns disagree whether
 * a character is one or two.
 */
const LAST = 0xffff;
const MAX_DEPTH = 64;
const MAX_CHARACTERS = 2_000;
const WORD = [between("a", "z"), between("A", "Z"), between("0", "9"), between("_", "_")];
const CLASSES: Readonly<Record<string, readonly CharacterRange[]>> = {
  d: [between("0", "9")],
  w: WORD,
  s: [
    [0x09, 0x0d],
    [0x20, 0x20],
    [0xa0, 0xa0],
    [0x1680, 0x1680],
    [0x2000, 0x200a],
    [0x2028, 0x2029],
  ],
};
const CONTROLS: Readonly<Record<string, number>> = { n: 10, r: 13, t: 9, f: 12, v: 11, "0": 0 };

/**
 * The content of a JSON string that matches an ECMAScript pattern. Anchors count at the pattern's ends;
 * throws for what is no regular language here: look-around, back references, `\b`, `\p`.
 */
export function patternRule(pattern: string): Rule {
  const reader = { source: Array.from(pattern), index: 0 };
  if (pattern.length > MAX_CHARACTERS)
    throw new Error(
      `the pattern has ${pattern.length} characters, at most ${MAX_CHARACTERS} are read`,
    );
  const rule = readChoice(reader, 0);
  if (reader.index < reader.source.length) throw refusal(reader, "an unmatched )");
  return rule;
}

interface Reader {
  readonly source: readonly string[];
  index: number;
}

function refusal({ source, index }: Reader, what: string): Error {
  return new Error(
    `the pattern ${source.join("").slice(0, 60)} has ${what} at ${index}, which is not supported`,
  );
}

function take(reader: Reader, expected: string): boolean {
  if (reader.source[reader.index] !== expected) return false;
  reader.index += 1;
  return true;
}

function readChoice(reader: Reader, depth: number): Rule {
  if (depth > MAX_DEPTH) throw refusal(reader, "too many groups");
  const options = [readSequence(reader, depth)];
  while (take(reader, "|")) options.push(readSequence(reader, depth));
  return choice(...options);
}

/** One alternative; outside of groups, it may match anywhere unless it is anchored. */
function readSequence(reader: Reader, depth: number): Rule {
  const rules: Rule[] = [];
  const startsAnywhere = depth === 0 && !take(reader, "^");
  let endsAnywhere = depth === 0;
  for (;;) {
    const next = reader.source[reader.index];
    if (next === undefined || next === "|" || next === ")") break;
    if (next === "$" && depth === 0) {
      reader.index += 1;
      endsAnywhere = false;
      const after = reader.source[reader.index];
      if (after !== undefined && after !== "|") throw refusal(reader, "text after $");
      break;
    }
    rules.push(readQuantified(reader, depth));
  }
  const anything = repeat(STRING_CHARACTER, 0);
  return sequence(startsAnywhere ? anything : EMPTY, ...rules, endsAnywhere ? anything : EMPTY);
}

function readQuantified(reader: Reader, depth: number): Rule {
  const atom = readAtom(reader, depth);
  const count = readCount(reader);
  if (count === undefined) return atom;
  take(reader, "?");
  return repeat(atom, ...count);
}

function readCount(reader: Reader): [number, number | null] | undefined {
  if (take(reader, "*")) return [0, null];
  if (take(reader, "+")) return [1, null];
  if (take(reader, "?")) return [0, 1];
  const rest = reader.source.slice(reader.index, reader.index + 24).join("");
  const found = /^\{(\d{1,5})(,(\d{0,5}))?\}/.exec(rest);
  if (found === null) return undefined;
  reader.index += found[0].length;
  const minimum = Number(found[1]);
  if (found[2] === undefined) return [minimum, minimum];
  return [minimum, found[3] ? Number(found[3]) : null];
}

function readAtom(reader: Reader, depth: number): Rule {
  const character = reader.source[reader.index] ?? "";
  reader.index += 1;
  if (character === "(") return readGroup(reader, depth);
  if (character === "[") return jsonCharacters(readClass(reader));
  if (character === ".")
    return jsonCharacters(
      complement([
        [10, 10],
        [13, 13],
        [0x2028, 0x2029],
      ]),
    );
  if (character === "\\") return jsonCharacters(readEscape(reader));
  if ("^$*+?".includes(character)) throw refusal(reader, `${character} out of place`);
  return jsonCharacters([between(character, character)]);
}

function readGroup(reader: Reader, depth: number): Rule {
  if (take(reader, "?")) {
    const named = /^<[A-Za-z_$][\w$]*>/.exec(reader.source.slice(reader.index).join(""));
    if (named !== null) reader.index += named[0].length;
    else if (!take(reader, ":")) throw refusal(reader, "a look-around");
  }
  const rule = readChoice(reader, depth + 1);
  if (!take(reader, ")")) throw refusal(reader, "an open group");
  return rule;
}

function readClass(reader: Reader): readonly CharacterRange[] {
  const negated = take(reader, "^");
  const ranges: CharacterRange[] = [];
  while (!take(reader, "]")) {
    const first = readClassMember(reader);
    const single = first.length === 1 && first[0]?.[0] === first[0]?.[1] ? first[0] : undefined;
    const isRange = reader.source[reader.index] === "-" && reader.source[reader.index + 1] !== "]";
    if (single === undefined || !isRange) {
      ranges.push(...first);
      continue;
    }
    reader.index += 1;
    const last = readClassMember(reader)[0];
    if (last === undefined || last[0] < single[0]) throw refusal(reader, "a range out of order");
    ranges.push([single[0], last[1]]);
  }
  return negated ? complement(ranges) : ranges;
}

function readClassMember(reader: Reader): readonly CharacterRange[] {
  const character = reader.source[reader.index];
  if (character === undefined) throw refusal(reader, "an open [");
  reader.index += 1;
  return character === "\\" ? readEscape(reader, true) : [between(character, character)];
}

function readEscape(reader: Reader, inClass = false): readonly CharacterRange[] {
  const letter = reader.source[reader.index] ?? "";
  reader.index += 1;
  const known = CLASSES[letter];
  if (known !== undefined) return known;
  const negated = letter === letter.toUpperCase() ? CLASSES[letter.toLowerCase()] : undefined;
  if (negated !== undefined) return complement(negated);
  const control = CONTROLS[letter];
  if (control !== undefined) return [[control, control]];
  if (letter === "x" || letter === "u") return readCodePoint(reader, letter);
  if (letter === "b" && inClass) return [[8, 8]];
  if (/^[A-Za-z1-9]?$/.test(letter)) throw refusal(reader, `\\${letter}`);
  return [between(letter, letter)];
}

function readCodePoint(reader: Reader, letter: "x" | "u"): readonly CharacterRange[] {
  const rest = reader.source.slice(reader.index, reader.index + 8).join("");
  const form =
    letter === "x" ? /^([0-9a-fA-F]{2})/ : /^(?:([0-9a-fA-F]{4})|\{([0-9a-fA-F]{1,6})\})/;
  const found = form.exec(rest);
  if (found === null) throw refusal(reader, `\\${letter} without its digits`);
  reader.index += found[0].length;
  const code = Number.parseInt(found[1] ?? found[2] ?? "", 16);
  return [[code, code]];
}

function complement(ranges: readonly CharacterRange[]): CharacterRange[] {
  const gaps: CharacterRange[] = [];
  let next = 0;
  for (const [first, last] of ranges.toSorted((left, right) => left[0] - right[0])) {
    if (first > next) gaps.push([next, first - 1]);
    next = Math.max(next, last + 1);
  }
  return next > LAST ? gaps : [...gaps, [next, LAST]];
}

/** Characters as a JSON string holds them: quotes, backslashes and controls only as escapes. */
function jsonCharacters(ranges: readonly CharacterRange[]): Rule {
  const plain = ranges.flatMap(([first, last]) =>
    PLAIN_CHARACTERS.map(([low, high]): CharacterRange => [
      Math.max(first, low),
      Math.min(last, high),
    ]).filter(([from, to]) => from <= to),
  );
  const escaped = [...Array(0x20).keys(), 0x22, 0x5c]
    .filter((code) => ranges.some(([first, last]) => first <= code && code <= last))
    .map((code) => text(JSON.stringify(String.fromCodePoint(code)).slice(1, -1)));
  const rules = plain.length > 0 ? [characters(...plain), ...escaped] : escaped;
  return choice(...rules);
}
