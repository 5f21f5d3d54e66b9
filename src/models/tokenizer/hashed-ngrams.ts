import { z } from "zod";
import { messageOf } from "../../core/errors.js";

/** Settings of a hashed n-gram tokenizer, as in model.json. */
export const hashedNgramSettings = z.object({
  kind: z.literal("hashed-ngram"),
  /** Ids are 1 to buckets − 1; 0 is padding. */
  buckets: z.int().min(2),
  words: z.int().positive(),
  idsPerWord: z.int().positive(),
  gram: z.int().positive(),
  /** What says how something is asked for, not what it is: taken off the lower-case text, one after the other. */
  unread: z.array(z.string().transform(readPattern)).optional(),
});

export type HashedNgramSettings = z.infer<typeof hashedNgramSettings>;

/** Word and character n-gram ids [words, idsPerWord], int64, zero-padded: no vocabulary to miss. */
export function hashNgrams(text: string, settings: HashedNgramSettings): BigInt64Array {
  const { words, idsPerWord, buckets, gram } = settings;
  const ids = new BigInt64Array(words * idsPerWord);
  for (const [position, word] of wordsOf(text, settings).slice(0, words).entries()) {
    const pieces = [`w:${word}`, ...gramsOf(`<${word}>`, gram)].slice(0, idsPerWord);
    for (const [index, piece] of pieces.entries()) {
      ids[position * idsPerWord + index] = BigInt(1 + (fnv1a(piece) % (buckets - 1)));
    }
  }
  return ids;
}

/** All words of a text that are not `unread`; `words` of them are hashed. */
export function wordsOf(
  text: string,
  { unread = [] }: Pick<HashedNgramSettings, "unread">,
): string[] {
  const left = unread.reduce((rest, pattern) => rest.replaceAll(pattern, ""), text.toLowerCase());
  return left.match(/[\p{L}\p{N}]+/gu) ?? [];
}

function readPattern(source: string, context: z.RefinementCtx): RegExp {
  try {
    return new RegExp(source, "gu");
  } catch (thrown) {
    context.addIssue(messageOf(thrown));
    return z.NEVER;
  }
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
