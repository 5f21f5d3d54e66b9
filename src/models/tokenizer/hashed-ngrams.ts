import { z } from "zod";

/** Settings of a hashed n-gram tokenizer, as in model.json. */
export const hashedNgramSettings = z.object({
  kind: z.literal("hashed-ngram"),
  /** Ids are 1 to buckets − 1; 0 is padding. */
  buckets: z.int().min(2),
  words: z.int().positive(),
  idsPerWord: z.int().positive(),
  gram: z.int().positive(),
});

export type HashedNgramSettings = z.infer<typeof hashedNgramSettings>;

/** Word and character n-gram ids [words, idsPerWord], int64, zero-padded: no vocabulary to miss. */
export function hashNgrams(text: string, settings: HashedNgramSettings): BigInt64Array {
  const { words, idsPerWord, buckets, gram } = settings;
  const ids = new BigInt64Array(words * idsPerWord);
  for (const [position, word] of wordsOf(text).slice(0, words).entries()) {
    const pieces = [`w:${word}`, ...gramsOf(`<${word}>`, gram)].slice(0, idsPerWord);
    for (const [index, piece] of pieces.entries()) {
      ids[position * idsPerWord + index] = BigInt(1 + (fnv1a(piece) % (buckets - 1)));
    }
  }
  return ids;
}

/** All words of a text; `settings.words` of them are read. */
export function wordsOf(text: string): string[] {
  return text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
}

function gramsOf(word: string, length: number): string[] {
  const characters = Array.from(word);
  const count = Math.max(1, characters.length - length + 1);
  return Array.from({ length: count }, (_, at) => characters.slice(at, at + length).join(""));
}

/** FNV-1a, 32 bits, over UTF-8 (draft-eastlake-fnv). */
function fnv1a(text: string): number {
  let hash = 0x81_1c_9d_c5;
  for (const byte of Buffer.from(text, "utf8")) hash = Math.imul(hash ^ byte, 0x01_00_01_93) >>> 0;
  return hash;
}
