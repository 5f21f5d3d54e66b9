import { describe, expect, it, test } from "vitest";
import {
  areaUnderCurve,
  createBm25,
  isFirst,
  ndcgAt10,
} from "#framemill/bench/evaluation/ranking.js";

describe("nDCG@10 with one right passage", () => {
  it("falls with the logarithm of the rank and ends at ten", () => {
    const scores = Array.from({ length: 12 }, (_, at) => -at);
    expect(ndcgAt10(scores, 0)).toBe(1);
    expect(ndcgAt10(scores, 1)).toBeCloseTo(0.6309, 4);
    expect(ndcgAt10(scores, 9)).toBeCloseTo(0.2891, 4);
    expect(ndcgAt10(scores, 10)).toBe(0);
  });

  it("puts passages of one score in their order and finds nothing in NaN", () => {
    expect(ndcgAt10([0, 0, 0], 2)).toBe(0.5);
    expect(ndcgAt10([Number.NaN, Number.NaN], 0)).toBe(0);
  });
});

test("first is above all others: a tie is not, nor is NaN", () => {
  expect(isFirst([1, 3, 2], 1)).toBe(true);
  expect(isFirst([3, 3, 2], 0)).toBe(false);
  expect(isFirst([Number.NaN, 1], 0)).toBe(false);
  expect(isFirst([1, 2], 5)).toBe(false);
});

describe("the area under the ROC curve", () => {
  it("counts pairs in order, ties by half", () => {
    expect(areaUnderCurve([2, 3], [0, 1])).toBe(1);
    expect(areaUnderCurve([0], [1, 2])).toBe(0);
    expect(areaUnderCurve([1, 3], [1, 2])).toBe(0.625);
    expect(areaUnderCurve([5, 5], [5])).toBe(0.5);
  });
});

describe("BM25", () => {
  it("finds words in other endings and values rare ones more", () => {
    const rank = createBm25([
      "boats sail on lakes",
      "the sailing of boats",
      "a green lake",
      "lakes",
    ]);
    expect(rank("boat")[2]).toBe(0);
    expect(rank("green boats").indexOf(Math.max(...rank("green boats")))).toBe(2);
  });

  it("gives the value of the formula", () => {
    const [first, second] = createBm25(["red boat", "blue car"])("boat");
    expect(first).toBeCloseTo(Math.log(2), 10);
    expect(second).toBe(0);
  });
});
