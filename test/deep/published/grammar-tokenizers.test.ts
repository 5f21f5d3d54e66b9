import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { answersUnderMask, parseAnswer, person } from "../../support/answers-under-mask.js";
import { describeWithModels, publishedModel } from "../../support/published-models.js";

describeWithModels("under a mask over the tokens of", () => {
  test.each([
    ["chat-stories260K", 512],
    ["tokenizers/llama2", 32_000],
    ["tokenizers/phi-3", 32_064],
    ["tokenizers/whisper-multilingual", 51_865],
  ])("%s every answer is valid", async (name, vocabSize) => {
    const path = publishedModel(name, "tokenizer.json");
    const json = JSON.parse(readFileSync(path, "utf8")) as Record<string, unknown>;
    const answers = await answersUnderMask(json, { vocabSize, stopTokenId: 2, seeds: 3 });
    for (const answer of answers)
      expect(person.safeParse(parseAnswer(answer)).error).toBeUndefined();
  });
});
