import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createWordCounter } from "#framemill/models/bag-of-words/open.js";
import { normalised, parsePooling, poolRow } from "#framemill/models/encoder/settings.js";
import { fitPair } from "#framemill/models/tokenizer/sequence-tokenizer.js";

describe("pooling", () => {
  // Two rows of three tokens of width 2; the second row has one token and padding.
  const data = Float32Array.of(1, 2, 3, -4, 5, 6, 7, 8, 100, 100, 100, 100);
  const vectors = { data, length: 3, width: 2 };

  test.each([
    ["cls", [1, 2]],
    ["mean", [3, 4 / 3]],
    ["last", [5, 6]],
    ["max", [5, 6]],
    ["mean-sqrt-length", [9 / Math.sqrt(3), 4 / Math.sqrt(3)]],
  ] as const)("takes %s of a row's own tokens", (pooling, expected) => {
    const row = poolRow(vectors, { row: 0, count: 3, pooling });
    expected.forEach((value, index) => expect(row[index]).toBeCloseTo(value, 6));
    expect([...poolRow(vectors, { row: 1, count: 1, pooling })]).toEqual([7, 8]);
  });

  test("gives unit length, and leaves zeros", () => {
    expect([...normalised(Float32Array.of(3, 4))]).toEqual([Math.fround(0.6), Math.fround(0.8)]);
    expect([...normalised(Float32Array.of(0, 0))]).toEqual([0, 0]);
  });

  test.each([
    ["flags", { pooling_mode_lasttoken: true, pooling_mode_mean_tokens: false }, "last"],
    ["a mode", { embedding_dimension: 4, pooling_mode: "lasttoken", include_prompt: true }, "last"],
    ["a list of one mode", { pooling_mode: ["mean_sqrt_len_tokens"] }, "mean-sqrt-length"],
  ])("is read from %s of sentence-transformers", (_, config, pooling) => {
    expect(parsePooling(config, "x")).toBe(pooling);
  });

  test.each([
    [{ pooling_mode_cls_token: true, pooling_mode_mean_tokens: true }, "cls and mean"],
    [{ pooling_mode: ["cls", "mean"] }, "cls and mean"],
    [{ pooling_mode: "weightedmean" }, "weightedmean"],
    [{ pooling_mode_weightedmean_tokens: true }, "weightedmean"],
    [{ embedding_dimension: 4 }, "none"],
  ])("%j is refused by name", (config, asked) => {
    expect(() => parsePooling(config, "x")).toThrow(
      `x: pooling must be one of cls, mean, lasttoken, max, mean_sqrt_len_tokens, got ${asked}`,
    );
  });
});

test("a pair is cut as if the longer text lost one token after the other", () => {
  const cut = (first: number, second: number, room: number) => {
    while (first + second > room) {
      if (second >= first) second -= 1;
      else first -= 1;
    }
    return [first, second];
  };
  const size = fc.integer({ min: 0, max: 60 });
  fc.assert(
    fc.property(size, size, size, (first, second, room) => {
      const [left, right] = fitPair(first, second, room);
      const [a = 0, b = 0] = cut(first, second, room);
      expect(left + right).toBe(a + b);
      expect(Math.abs(left - a)).toBeLessThanOrEqual(1);
    }),
  );
});

test("words are counted as scikit-learn's CountVectorizer counts them", () => {
  // Python: CountVectorizer(vocabulary=...).transform([text]); \w takes letters, digits and _.
  const count = createWordCounter({
    vocabulary: { hello: 0, naïve: 1, snake_case: 2, a: 3, "42": 4 },
  });
  const { counts } = count("HELLO, hello! naïve snake_case a 42 (unknown)");
  expect([...counts]).toEqual([
    [0, 2],
    [1, 1],
    [2, 1],
    [4, 1],
  ]);
  expect(() => createWordCounter({ token_pattern: "x+", vocabulary: {} })).toThrow("token_pattern");
});
