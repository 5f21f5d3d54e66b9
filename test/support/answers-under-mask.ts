import { z } from "zod";
import { createMaskFactory } from "#framemill/models/decoder/grammar/grammar.js";
import { createTextTokenizer } from "#framemill/models/tokenizer/text-tokenizer.js";
import { sampleMasked } from "./masked-sampling.js";

/** What answers are held to: every kind of value and of bound. */
export const person = z.strictObject({
  name: z.string().min(1).max(40),
  born: z.iso.date(),
  score: z.number().min(-1).max(1),
  tags: z.array(z.enum(["a", "b"])).max(3),
  parent: z.union([z.null(), z.strictObject({ name: z.string().max(5) })]),
});

/** Answers of tokens that are drawn evenly from what the schema of a person allows, one a seed. */
export async function answersUnderMask(
  tokenizerJson: Readonly<Record<string, unknown>>,
  options: { readonly vocabSize: number; readonly stopTokenId: number; readonly seeds: number },
): Promise<string[]> {
  const { vocabSize, stopTokenId, seeds } = options;
  const tokenizer = createTextTokenizer(tokenizerJson);
  const createMask = await createMaskFactory(tokenizerJson, vocabSize, [stopTokenId]);
  return Array.from({ length: seeds }, (_, seed) => {
    const mask = createMask({ kind: "json-schema", schema: z.toJSONSchema(person) });
    const { ids, isComplete } = sampleMasked(mask, { seed, maxTokens: 2_000, stopTokenId });
    return isComplete ? tokenizer.decode(ids) : "";
  });
}

/** Zod counts UTF-16 units; JSON Schema, and so the grammar, characters. */
export function parseAnswer(answer: string): unknown {
  return JSON.parse(answer.replaceAll(/[\u{10000}-\u{10ffff}]/gu, "x"));
}
