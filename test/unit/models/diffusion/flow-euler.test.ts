import { describe, expect, test } from "vitest";
import { eulerStep, flowSigmas, guide } from "#framemill/models/diffusion/schedulers/flow-match.js";
import { gaussianNoise } from "#framemill/models/sampling/noise.js";
import { hashNgrams } from "#framemill/models/tokenizer/hashed-ngrams.js";

const tokenizer = {
  kind: "hashed-ngram",
  buckets: 8192,
  words: 32,
  idsPerWord: 10,
  gram: 4,
} as const;

describe("noise", () => {
  test("is the same for the same seed and differs for another", () => {
    expect(gaussianNoise(7, 1_000)).toEqual(gaussianNoise(7, 1_000));
    expect(gaussianNoise(8, 1_000)).not.toEqual(gaussianNoise(7, 1_000));
    expect(gaussianNoise(7 + 2 ** 32, 1_000)).not.toEqual(gaussianNoise(7, 1_000));
  });

  test("has mean 0, variance 1 and no neighbours that resemble one another", () => {
    const values = gaussianNoise(2026, 200_000);
    const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
    const variance = values.reduce((sum, value) => sum + value * value, 0) / values.length;
    const neighbours = values
      .slice(1)
      .reduce((sum, value, at) => sum + value * (values[at] ?? 0), 0);
    expect(mean).toBeCloseTo(0, 2);
    expect(variance).toBeCloseTo(1, 1);
    expect(neighbours / values.length).toBeCloseTo(0, 2);
  });
});

describe("flow matching", () => {
  test("spends more steps near the noise when shifted, and ends at no noise", () => {
    expect(flowSigmas(4, 1)).toEqual([1, 0.75, 0.5, 0.25, 0]);
    expect(flowSigmas(4, 3)).toEqual([1, 0.9, 0.75, 0.5, 0]);
  });

  test("reaches the clean sample along a straight path in any number of steps", () => {
    const clean = [0.5, -2];
    const noise = [1, 1];
    const velocity = Float32Array.from(noise, (value, at) => value - (clean[at] ?? 0));
    const sample = Float32Array.from(noise);
    const sigmas = flowSigmas(7, 2);
    for (let step = 0; step < 7; step++) {
      eulerStep(sample, velocity, (sigmas[step + 1] ?? 0) - (sigmas[step] ?? 0));
    }
    expect([...sample]).toEqual([expect.closeTo(0.5, 5), expect.closeTo(-2, 5)]);
  });

  test("guidance 1 is the conditional branch and 0 the unconditional one", () => {
    const batch = Float32Array.of(3, 5, 1, 2);
    expect([...guide(batch, 1)]).toEqual([3, 5]);
    expect([...guide(batch, 0)]).toEqual([1, 2]);
    expect([...guide(batch, 2)]).toEqual([5, 8]);
  });
});

describe("the hashed n-gram tokenizer", () => {
  test("gives a word the same ids wherever it stands and pads with zeros", () => {
    const ids = hashNgrams("Boat, a boat!", tokenizer);
    expect(ids.slice(0, 10)).toEqual(ids.slice(20, 30));
    expect(ids.slice(30).every((id) => id === 0n)).toBe(true);
  });

  test("reads letters of every script and forgets what follows the last word", () => {
    expect(
      hashNgrams("лодка 船", tokenizer)
        .slice(0, 20)
        .some((id) => id > 0n),
    ).toBe(true);
    const long = Array.from({ length: 40 }, (_, at) => `w${at}`).join(" ");
    expect(hashNgrams(long, tokenizer)).toHaveLength(320);
  });
});
