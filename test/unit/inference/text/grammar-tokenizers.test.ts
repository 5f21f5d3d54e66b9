import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { z } from "zod";
import { createMaskFactory } from "#framemill/inference/text/grammar.js";
import { createTextTokenizer } from "#framemill/inference/text-tokenizer.js";
import { sampleMasked } from "../../../support/masked-sampling.js";
import { describeWithModels, publishedModel } from "../../../support/published-models.js";

const person = z.strictObject({
  name: z.string().min(1).max(40),
  born: z.iso.date(),
  score: z.number().min(-1).max(1),
  tags: z.array(z.enum(["a", "b"])).max(3),
  parent: z.union([z.null(), z.strictObject({ name: z.string().max(5) })]),
});

describeWithModels("under a mask over the tokens of", () => {
  test.each([
    ["chat-stories260K", 512],
    ["tokenizers/llama2", 32_000],
    ["tokenizers/phi-3", 32_064],
    ["tokenizers/whisper-multilingual", 51_865],
  ])("%s every answer is valid", async (name, vocabSize) => {
    const path = publishedModel(name, "tokenizer.json");
    const json = JSON.parse(readFileSync(path, "utf8")) as Record<string, unknown>;
    const tokenizer = createTextTokenizer(json);
    const stopTokenId = 2;
    const createMask = await createMaskFactory(json, vocabSize, [stopTokenId]);
    for (let seed = 1; seed <= 3; seed += 1) {
      const mask = createMask({ kind: "json-schema", schema: z.toJSONSchema(person) });
      const { ids, isComplete } = sampleMasked(mask, { seed, maxTokens: 2_000, stopTokenId });
      expect(isComplete).toBe(true);
      const value: unknown = JSON.parse(
        tokenizer.decode(ids).replaceAll(/[\u{10000}-\u{10ffff}]/gu, "x"),
      );
      expect(person.safeParse(value).error).toBeUndefined();
    }
  });
});
