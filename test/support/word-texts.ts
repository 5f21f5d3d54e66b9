import * as fc from "fast-check";

const HARD_WORDS = [
  "Hello",
  "wörld!",
  "北京",
  "ﬁne",
  "x_y",
  "don't",
  "ΣΑΣ",
  "🙂",
  "...",
  "x▁y",
  "[MASK]",
  "</s>",
  "a\u0301",
];

const word = fc.oneof(
  fc.constantFrom(...HARD_WORDS),
  fc.string({ unit: "grapheme", maxLength: 12 }),
);
const space = fc.constantFrom(" ", "  ", "\n", "\t", " \r\n ", "");

/** Texts whose words and spaces tokenizers treat in many ways. */
export const wordTexts: fc.Arbitrary<string> = fc
  .array(fc.tuple(word, space), { maxLength: 12 })
  .map((parts) => parts.flat().join(""));
