/** The words that can be heard, with how each may sound. */
export interface Lexicon {
  /** As written, by number; the first two are the sentence's beginning and end. */
  readonly words: readonly string[];
  readonly pronunciations: readonly Pronunciation[];
}

export interface Pronunciation {
  readonly word: number;
  /** Numbers from 1 on; 0 is silence. */
  readonly phones: readonly number[];
}

/**
 * Reads one word a line: its spelling, then each pronunciation after a tab, phones apart by spaces.
 * Throws a sentence that names the line with a phone that is not in `phones`.
 */
export function parseLexicon(text: string, phones: readonly string[]): Lexicon {
  const numberOf = new Map(phones.map((phone, number) => [phone, number]));
  // 0 and 1 are a sentence's beginning and end.
  const words = ["", ""];
  const pronunciations: Pronunciation[] = [];
  for (const [index, line] of text.split("\n").entries()) {
    if (line === "") continue;
    const [spelling = "", ...forms] = line.split("\t");
    for (const form of forms) {
      const numbers = form.split(" ").map((phone) => numberOf.get(phone) ?? -1);
      if (numbers.some((number) => number < 1))
        throw new Error(`line ${index + 1} of the lexicon has an unknown phone: ${form}`);
      pronunciations.push({ word: words.length, phones: numbers });
    }
    words.push(spelling);
  }
  return { words, pronunciations };
}
