import { expect, test } from "vitest";
import { spellPrompt } from "#framemill/models/score/plan.js";
import { hashNgrams } from "#framemill/models/tokenizer/hashed-ngrams.js";

test("spells numbers digit by digit and signs of keys as words", () => {
  const words = spellPrompt("120bpm in F# minor, B♭").split(/[\s,]+/);
  expect(words).toEqual(["", "1", "2", "0", "bpm", "in", "F", "sharp", "minor", "B", "flat", ""]);
});

// From tokenizer.py of the recipe, `tokenize("C# 90")`.
test("gives the ids that the recipe trained on", () => {
  const settings = {
    kind: "hashed-ngram",
    buckets: 4_096,
    words: 40,
    idsPerWord: 8,
    gram: 4,
  } as const;
  const ids = [...hashNgrams(spellPrompt("C# 90"), settings)].map(Number).filter((id) => id > 0);
  expect(ids).toEqual([1052, 3796, 1977, 2570, 3317, 2405, 1807, 3036, 3094, 3495, 4086]);
});
