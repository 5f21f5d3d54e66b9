import {
  between,
  type CharacterRange,
  characters,
  choice,
  EMPTY,
  optional,
  reference,
  repeat,
  type Rule,
  sequence,
  text,
} from "./rules.js";

/** Rules of JSON itself (RFC 8259), within what every reader takes: no lone surrogates, no 1e999. */

const MAX_INDENT = 32;
const DIGIT = characters(between("0", "9"));
const HEX = characters(between("0", "9"), between("a", "f"), between("A", "F"));

/**
 * Blanks that JSON is usually written with beside brackets and commas: nothing, a space, or a new line
 * and its indent. Bounded, since a small model may else write blanks for ever.
 */
export const GAP = reference("gap");
const BLANKS = choice(EMPTY, text(" "), sequence(text("\n"), repeat(text(" "), 0, MAX_INDENT)));

/** Characters that stand in a string as they are. */
export const PLAIN_CHARACTERS: readonly CharacterRange[] = [
  [0x20, 0x21],
  [0x23, 0x5b],
  [0x5d, 0x10ffff],
];

/** One character of a string, as itself or escaped. */
export const STRING_CHARACTER = choice(
  characters(...PLAIN_CHARACTERS),
  sequence(
    text("\\"),
    choice(
      characters(...Array.from('"\\/bfnrt', (character) => between(character, character))),
      sequence(text("u"), codeUnit()),
    ),
  ),
);

/** Four hexadecimal digits that are no surrogate. */
function codeUnit(): Rule {
  const notD = characters(between("0", "9"), ...hexLetters("aAbBcCeEfF"));
  return choice(
    sequence(notD, HEX, HEX, HEX),
    sequence(characters(...hexLetters("dD")), characters(between("0", "7")), HEX, HEX),
  );
}

function hexLetters(pair: string): CharacterRange[] {
  return Array.from(pair, (letter) => between(letter, letter));
}

export const STRING = reference("string");

export function stringOf(minimum: number, maximum: number | null): Rule {
  return minimum === 0 && maximum === null ? STRING : quoted(minimum, maximum);
}

function quoted(minimum: number, maximum: number | null): Rule {
  return sequence(text('"'), repeat(STRING_CHARACTER, minimum, maximum), text('"'));
}

export const INTEGER = reference("integer");
export const NUMBER = reference("number");

/** At most 15 digits: what a double holds exactly. */
const WHOLE_NUMBER = sequence(
  optional(text("-")),
  choice(text("0"), sequence(characters(between("1", "9")), repeat(DIGIT, 0, 14))),
);

const ANY_NUMBER = sequence(
  INTEGER,
  optional(sequence(text("."), repeat(DIGIT, 1, 15))),
  optional(
    sequence(
      characters(between("e", "e"), between("E", "E")),
      optional(characters(between("+", "+"), between("-", "-"))),
      repeat(DIGIT, 1, 2),
    ),
  ),
);

/** `items` with commas between them, in these brackets; `maximum` null for any number. */
export function listOf(
  item: Rule,
  {
    open,
    close,
    minimum,
    maximum,
  }: {
    readonly open: string;
    readonly close: string;
    readonly minimum: number;
    readonly maximum: number | null;
  },
): Rule {
  if (maximum === 0) return sequence(text(open), GAP, text(close));
  const next = sequence(text(","), GAP, item);
  const rest = repeat(next, Math.max(0, minimum - 1), maximum === null ? null : maximum - 1);
  const filled = sequence(GAP, item, rest);
  const content = minimum > 0 ? filled : optional(filled);
  return sequence(text(open), content, GAP, text(close));
}

/** A name of an object's member with its value. */
export function member(name: Rule, value: Rule): Rule {
  return sequence(name, text(":"), optional(text(" ")), value);
}

export const VALUE = reference("value");

/** Named rules of any JSON, which all schemas share. */
export function jsonRules(): Map<string, Rule> {
  const anyNumber = { minimum: 0, maximum: null };
  const words = ["true", "false", "null"].map(text);
  return new Map<string, Rule>([
    ["gap", BLANKS],
    ["integer", WHOLE_NUMBER],
    ["number", ANY_NUMBER],
    ["string", quoted(0, null)],
    ["array", listOf(VALUE, { open: "[", close: "]", ...anyNumber })],
    ["object", listOf(member(STRING, VALUE), { open: "{", close: "}", ...anyNumber })],
    ["value", choice(reference("object"), reference("array"), STRING, NUMBER, ...words)],
  ]);
}
