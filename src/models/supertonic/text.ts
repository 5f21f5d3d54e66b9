/** Emoji and dingbats. */
const PICTURES = /[\u{1f300}-\u{1f64f}\u{1f680}-\u{1faff}\u{1f1e6}-\u{1f1ff}\u2600-\u27bf]/gu;

/** What the model was trained on, for what texts hold (Supertone's UnicodeProcessor), in this order. */
const RULES: readonly (readonly [RegExp, string])[] = [
  [PICTURES, ""],
  [/[‐–—]/g, "-"],
  [/[¯_[\]|/#→←]/g, " "],
  [/[“”]/g, '"'],
  [/[‘’´`]/g, "'"],
  [/[♥☆♡©\\]/g, ""],
  [/@/g, " at "],
  [/e\.g\.,/g, "for example, "],
  [/i\.e\.,/g, "that is, "],
  [/ ([,.!?;:'])/g, "$1"],
  [/(["'])\1+/g, "$1"],
  [/\s+/g, " "],
];

const ENDED = /[.!?;:,'")\]}…。」』】〉》›»]$/;

/** A text as the model reads it, marked with its language where the model wants that. */
export function supertonicText(text: string, language: string | null): string {
  const settled = RULES.reduce(
    (said, [pattern, known]) => said.replaceAll(pattern, known),
    text.normalize("NFKD"),
  ).trim();
  const ended = ENDED.test(settled) ? settled : `${settled}.`;
  return language === null ? ended : `<${language}>${ended}</${language}>`;
}

/** Id of a code point at its place, -1 for one that the model does not know. */
export type CharacterIds = readonly number[];

/** Characters without an id are left out. */
export function idsOf(text: string, ids: CharacterIds): number[] {
  return Array.from(text, (character) => ids[character.codePointAt(0) ?? 0] ?? -1).filter(
    (id) => id >= 0,
  );
}
