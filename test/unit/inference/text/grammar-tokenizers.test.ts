import { describe, expect, test } from "vitest";
import { answersUnderMask, parseAnswer, person } from "../../../support/answers-under-mask.js";
import { sentencePieceJson, unigramJson, wordPieceJson } from "../../../support/tiny-tokenizers.js";

const PAIRS = ['{ "', '" :', '▁ "', "n a", "na m", "nam e", "1 9", "▁ {", '" ,'];
const PIECES = ['{"', '":', '▁"', "▁", "name", "19", "▁{", '",', "null", "score"];
const SIGNS = Array.from('{}[]":,-0123456789.abcdefghijklmnopqrstuvwxyz');

describe("an answer that is held to a schema, in tokens of", () => {
  test.each([
    ["Llama's kind, with bytes", sentencePieceJson(PAIRS), 2],
    [
      "T5's kind, without bytes",
      unigramJson(Object.fromEntries([...PIECES, ...SIGNS].map((piece) => [piece, -1]))),
      1,
    ],
  ])("%s, is valid whatever is drawn", async (_, json, stopTokenId) => {
    const { vocab } = json.model;
    const vocabSize = Array.isArray(vocab) ? vocab.length : Object.keys(vocab).length;
    // Models pad their logits.
    const options = { vocabSize: vocabSize + 5, stopTokenId, seeds: 12 };
    const answers = await answersUnderMask(json, options);
    expect(new Set(answers).size).toBe(12);
    for (const answer of answers)
      expect(person.safeParse(parseAnswer(answer)).error).toBeUndefined();
  });

  test("BERT's kind is refused: its texts depend on neighbours", async () => {
    const json = wordPieceJson(["{", "}"]);
    const refused = answersUnderMask(json, { vocabSize: 7, stopTokenId: 3, seeds: 1 });
    await expect(refused).rejects.toThrow("the tokenizer's decoder is not byte by byte");
  });
});
