import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { philox, randomStream } from "#framemill/models/sampling/noise.js";
import { type SamplingSettings, TokenSampler } from "#framemill/models/sampling/token-sampler.js";
import { argmax, LargestLogits } from "#framemill/models/sampling/logits.js";
import { createLikelyTokens, editLogits, maskLogits } from "#framemill/models/decoder/choice.js";

const OPEN: SamplingSettings = { temperature: 1, topP: 1, topK: 0, minP: 0 };

interface Ranked {
  readonly id: number;
  readonly logit: number;
  readonly probability: number;
}

/** The definition, by sorting everything: top-k, top-p of what is left, min-p. */
function reference(logits: Float32Array, settings: SamplingSettings): Ranked[] {
  const { temperature, topP, topK, minP } = settings;
  const all = Array.from(logits, (logit, id) => ({ id, logit }));
  const sorted = all.toSorted((a, b) => b.logit - a.logit || a.id - b.id);
  const max = sorted[0]?.logit ?? 0;
  const kept = sorted
    .slice(0, topK > 0 ? topK : sorted.length)
    .filter(({ logit }) => logit >= max - 32 * temperature)
    .map(({ id, logit }) => ({ id, logit, weight: Math.exp((logit - max) / temperature) }));
  const total = kept.reduce((sum, { weight }) => sum + weight, 0);
  let before = 0;
  return kept.flatMap(({ id, logit, weight }) => {
    const isIn = (topP >= 1 || before < topP) && weight >= minP;
    before += weight / total;
    return isIn ? [{ id, logit, probability: weight / total }] : [];
  });
}

/** Whether rounding could move the edge of what is kept. */
function isOnEdge(logits: Float32Array, settings: SamplingSettings): boolean {
  const near = (a: number, b: number) => Math.abs(a - b) < 1e-6;
  let mass = 0;
  return reference(logits, { ...settings, topP: 1, minP: 0 }).some(({ probability, logit }) => {
    mass += probability;
    const depth = (argmaxValue(logits) - logit) / settings.temperature;
    return near(mass, settings.topP) || near(depth, -Math.log(settings.minP)) || near(depth, 32);
  });
}

const argmaxValue = (logits: Float32Array) => logits[argmax(logits)] ?? 0;

const values = fc.array(fc.float({ min: -12, max: 12, noNaN: true }), {
  size: "max",
  minLength: 2,
  maxLength: 500,
});
const coarse = fc.array(fc.integer({ min: -3, max: 3 }), {
  size: "max",
  minLength: 2,
  maxLength: 500,
});
const settings = fc.record({
  temperature: fc.double({ min: 0.2, max: 2, noNaN: true }),
  topP: fc.oneof(fc.constant(1), fc.double({ min: 0.05, max: 0.99, noNaN: true })),
  topK: fc.oneof(
    fc.constant(0),
    fc.integer({ min: 2, max: 60 }),
    fc.integer({ min: 257, max: 400 }),
  ),
  minP: fc.oneof(fc.constant(0), fc.double({ min: 0.01, max: 0.9, noNaN: true })),
});

describe("choosing a token", () => {
  test("keeps just what sorting the whole vocabulary keeps, ties included", () => {
    fc.assert(
      fc.property(fc.oneof(values, coarse), settings, (list, chosen) => {
        const logits = Float32Array.from(list);
        fc.pre(!isOnEdge(logits, chosen));
        const actual = new TokenSampler(logits.length).support(logits, chosen);
        const expected = reference(logits, chosen).map(({ id }) => id);
        expect([...actual]).toEqual(expected.toSorted((a, b) => a - b));
      }),
      { numRuns: 300 },
    );
  });

  test("draws each token as often as it is likely", () => {
    const logits = Float32Array.from([2, -1, 0.5, 3, 1.5, -4, 0, 2.5]);
    const chosen = { temperature: 0.8, topP: 0.95, topK: 0, minP: 0 };
    const sampler = new TokenSampler(logits.length);
    const draws = 4_000;
    const counts = new Map<number, number>();
    for (let draw = 0; draw < draws; draw += 1) {
      const id = sampler.choose(logits, chosen, (draw + 0.5) / draws);
      counts.set(id, (counts.get(id) ?? 0) + 1);
    }
    const kept = reference(logits, chosen);
    const total = kept.reduce((sum, { probability }) => sum + probability, 0);
    expect(counts.size).toBe(kept.length);
    for (const { id, probability } of kept)
      expect(Math.abs((counts.get(id) ?? 0) / draws - probability / total)).toBeLessThan(0.001);
  });

  test("at temperature 0 takes the likeliest, the lowest id of equals", () => {
    const logits = Float32Array.from([1, 7, 3, 7]);
    expect(new TokenSampler(4).choose(logits, { ...OPEN, temperature: 0 }, 0.99)).toBe(1);
  });

  test("never draws a barred token", () => {
    const logits = Float32Array.from([-Infinity, 0, -Infinity, 0]);
    const sampler = new TokenSampler(4);
    for (const uniform of [0, 0.49, 0.51, 0.999_999_999])
      expect([1, 3]).toContain(sampler.choose(logits, OPEN, uniform));
  });

  test.each([
    ["a NaN", [0, Number.NaN, 1]],
    ["NaN only", [Number.NaN, Number.NaN]],
    ["nothing finite", [-Infinity, -Infinity]],
    ["an infinite logit", [0, Infinity]],
  ])("refuses %s", (_, list) => {
    const choose = () => new TokenSampler(list.length).choose(Float32Array.from(list), OPEN, 0.5);
    expect(choose).toThrow(expect.objectContaining({ code: "invalid_output" }));
  });

  test("tells the likeliest tokens and what turns logits into log-probabilities", () => {
    const logits = Float32Array.from([0, 3, 1, 3, 2]);
    const likely = createLikelyTokens()(logits, 3);
    expect(likely.ids).toEqual([1, 3, 4]);
    const sum = logits.reduce((total, logit) => total + Math.exp(logit), 0);
    expect(likely.logprobOf(2)).toBeCloseTo(1 - Math.log(sum), 7);
  });

  test("finds the largest logits, the lowest ids of equals", () => {
    fc.assert(
      fc.property(fc.oneof(values, coarse), fc.integer({ min: 1, max: 40 }), (list, count) => {
        const logits = Float32Array.from(list);
        const expected = list
          .map((_, id) => id)
          .toSorted((a, b) => (logits[b] ?? 0) - (logits[a] ?? 0) || a - b)
          .slice(0, count);
        const found = new LargestLogits(40).select(logits, count);
        expect([...found].toSorted((a, b) => a - b)).toEqual(expected.toSorted((a, b) => a - b));
      }),
    );
  });
});

describe("random draws", () => {
  // Known answers of Random123's kat_vectors for philox4x32-10.
  test.each([
    [0, 0, [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]],
    [0xffff_ffff, 0xffff_ffff, [0x408f_276d, 0x41c8_3b0e, 0xa20b_c7c6, 0x6d54_51fd]],
  ])("are Philox's for key and counter %i", (key, counter, expected) => {
    const block = new Uint32Array(4).fill(counter);
    philox(block, key, key);
    expect([...block]).toEqual(expected);
  });

  test("depend on seed, stream and step alone, and fill [0, 1) evenly", () => {
    const stream = randomStream(-7, 3);
    expect(stream.at(5)).toBe(randomStream(-7, 3).at(5));
    expect(new Set([stream.at(5), stream.at(6), randomStream(-7, 4).at(5)]).size).toBe(3);
    const draws = Array.from({ length: 4_000 }, (_, step) => stream.at(step));
    expect(draws.reduce((sum, draw) => sum + draw, 0) / 4_000).toBeCloseTo(0.5, 1);
    expect(Math.max(...draws)).toBeLessThan(1);
  });
});

describe("changing logits", () => {
  const none = { frequencyPenalty: 0, presencePenalty: 0, repetitionPenalty: 1, bias: new Map() };

  test("takes penalties off the answer's tokens only, as often as they stand there", () => {
    const logits = Float32Array.from([1, 1, 1]);
    const seen = { counts: new Map([[1, 3]]), prompt: new Set([0]) };
    editLogits(logits, { ...none, frequencyPenalty: 0.5, presencePenalty: 0.25 }, seen);
    expect([...logits]).toEqual([1, 1 - 1.5 - 0.25, 1]);
  });

  test("divides what speaks for repetition, of prompt and answer, once", () => {
    const logits = Float32Array.from([2, -2, 2]);
    const seen = { counts: new Map([[1, 3]]), prompt: new Set([0, 1]) };
    editLogits(logits, { ...none, repetitionPenalty: 2 }, seen);
    expect([...logits]).toEqual([1, -4, 2]);
  });

  test("leaves the tokens of a mask, also in a vocabulary that is no multiple of 32", () => {
    const logits = new Float32Array(70).fill(1);
    maskLogits(logits, Uint32Array.of(0b101, 0, 1 << 5));
    expect([...logits.keys()].filter((id) => logits[id] === 1)).toEqual([0, 2, 69]);
    const barred = () => maskLogits(logits, new Int32Array(3));
    expect(barred).toThrow(expect.objectContaining({ code: "invalid_output" }));
  });
});
