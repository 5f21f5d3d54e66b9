import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { slopeOf } from "#framemill/bench/report/measure.js";

const line = (slope: number, count: number) =>
  Array.from({ length: count }, (_, x) => [x, 1_500 + slope * x] as const);

describe("a slope", () => {
  test("is that of the line through points that lie on one", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: -50, max: 50 }),
        fc.integer({ min: 2, max: 40 }),
        (slope, count) => {
          expect(slopeOf(line(slope, count))).toBeCloseTo(slope, 9);
        },
      ),
    );
  });

  test("is not moved by a quarter of the points that lie far away", () => {
    const points = line(0.1, 200).map(([x, y]) => [x, x % 4 === 0 ? y + 400 : y] as const);
    expect(slopeOf(points)).toBeCloseTo(0.1, 2);
  });

  test("tells a leak from one step at the start", () => {
    const step = line(0, 200).map(([x, y]) => [x, x < 20 ? y - 100 : y] as const);
    expect(slopeOf(step)).toBeCloseTo(0, 2);
    expect(slopeOf(line(0.2, 200))).toBeGreaterThan(0.1);
  });

  test("finds a leak below the steps of kinds that come round, and none where there is none", () => {
    // Each kind leaves another level, and garbage goes now and then.
    const soak = (leak: number) =>
      slopeOf(line(leak, 200).map(([x, y]) => [x, y + (((x % 23) * 17) % 40) + (x % 61)] as const));
    expect(Math.abs(soak(0))).toBeLessThan(0.1);
    expect(soak(0.2)).toBeGreaterThan(0.1);
  });
});
