import { describe, expect, test } from "vitest";
import { changeOf } from "#framemill/bench/report/report.js";
import { compare, noiseOf } from "#framemill/bench/report/measure.js";

const spec = { what: "a clip", unit: "s", target: null };
const rounds = (...seconds: readonly number[]) =>
  compare(
    spec,
    seconds.map((ours) => ({ ours, against: 1 })),
  );

describe("two runs of a benchmark", () => {
  test("give a ratio where every other round of each says the same", () => {
    expect(changeOf(rounds(1, 1.01, 0.99, 1), [rounds(2, 2.02, 1.98, 2)])).toBe("0.500");
  });

  test("give none where the same code differs by more than a twentieth", () => {
    expect(changeOf(rounds(1, 1.2, 1, 1.2), [rounds(2, 2, 2, 2)])).toBe("noisy, 17 %");
    expect(changeOf(rounds(1, 1, 1, 1), [rounds(2, 2.4, 2, 2.4)])).toBe("noisy, 17 %");
  });

  test("give none of fewer than four rounds, and nothing where the other lacks the row", () => {
    expect(changeOf(rounds(1, 1), [rounds(2, 2, 2, 2)])).toBe("too few rounds");
    expect(changeOf(rounds(1, 1, 1, 1), [])).toBe("");
  });

  test("noise is how far every other round lies from the rest, whichever is slower", () => {
    expect(noiseOf([1, 2, 1, 2])).toBeCloseTo(0.5);
    expect(noiseOf([2, 1, 2, 1])).toBeCloseTo(0.5);
    expect(noiseOf([3, 3, 3, 3])).toBe(0);
  });
});
