import { describe, expect, test } from "vitest";
import { createCodeSampler } from "#framemill/models/musicgen/make-codes.js";

/** Logits of one codebook: conditional, then unconditional. */
function logits(conditional: readonly number[], unconditional = conditional) {
  const codes = conditional.length;
  const values = Float32Array.from([...conditional, ...unconditional]);
  return { values, codes, offsetOf: (batchRow: number) => batchRow * codes };
}

function draws(scores: readonly number[], seed: number, count: number, codebook = 0): number[] {
  const sampler = createCodeSampler({ guidance: 1, topK: 3, temperature: 1 }, seed);
  return Array.from({ length: count }, (_, frame) =>
    sampler.sample(logits(scores), { codebook, frame }),
  );
}

describe("the code sampler", () => {
  test("moves away from the unconditional logits by the guidance", () => {
    // 0 + 3 × (1 − 0) = 3 beats 2.5 + 3 × (2.6 − 2.5) = 2.8, which is the likelier code unguided.
    const both = logits([1, 2.6], [0, 2.5]);
    const greedy = (guidance: number) =>
      createCodeSampler({ guidance, topK: 1, temperature: 1 }, 0).sample(both, {
        codebook: 0,
        frame: 0,
      });
    expect(greedy(3)).toBe(0);
    expect(greedy(1)).toBe(1);
  });

  test("draws each of the likeliest codes as often as its softmax says, and no other", () => {
    const count = 20_000;
    const found = draws([Math.log(1), Math.log(2), Math.log(4), Math.log(2), -9], 5, count);
    const share = (code: number) => found.filter((drawn) => drawn === code).length / count;
    // Codes 0 and 4 are out; 2, 4 and 2 parts of eight stay. 0.015 is four standard deviations.
    expect(share(0) + share(4)).toBe(0);
    expect(Math.abs(share(1) - 0.25)).toBeLessThan(0.015);
    expect(Math.abs(share(2) - 0.5)).toBeLessThan(0.015);
    expect(Math.abs(share(3) - 0.25)).toBeLessThan(0.015);
  });

  test("gives the same codes of the same seed, others of another and for another codebook", () => {
    const scores = [1, 1, 1];
    const first = draws(scores, 7, 64);
    expect(draws(scores, 7, 64)).toEqual(first);
    expect(draws(scores, 7 + 2 ** 32, 64)).not.toEqual(first);
    expect(draws(scores, 7, 64, 1)).not.toEqual(first);
  });

  test.each([Number.NaN, Infinity])("refuses logits that hold %d", (wrong) => {
    const sampler = createCodeSampler({ guidance: 3, topK: 250, temperature: 1 }, 0);
    expect(() => sampler.sample(logits([1, wrong, 2]), { codebook: 0, frame: 0 })).toThrow(
      expect.objectContaining({ code: "invalid_output" }),
    );
  });
});
