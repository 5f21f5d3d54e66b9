import { expect, test } from "vitest";
import { sectionAge } from "#framemill/models/score/plan.js";

const bars = [
  [1, 0],
  [1, 0],
  [1, 0],
  [2, 0],
  [2, 0],
  [1, 2],
  [1, 2],
];

test("a section begins anew with its kind or with its repeat", () => {
  expect(bars.map((_, at) => sectionAge(bars, at))).toEqual([0, 1, 2, 0, 1, 0, 1]);
});

test("before the first bar nothing has begun", () => {
  expect(sectionAge([], -1)).toBe(0);
});
