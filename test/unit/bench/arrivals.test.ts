import { describe, expect, test } from "vitest";
import { arrivalsWithin, poissonArrivals } from "#framemill/bench/suites/drive.js";

describe("Poisson arrivals", () => {
  test("are the same for the same seed and others for another", () => {
    expect(poissonArrivals(10, 50, 7)).toEqual(poissonArrivals(10, 50, 7));
    expect(poissonArrivals(10, 50, 7)).not.toEqual(poissonArrivals(10, 50, 8));
  });

  test("come in order at the wanted rate, with gaps as far spread as exponential ones are", () => {
    const count = 20_000;
    const arrivals = poissonArrivals(50, count, 1);
    const gaps = arrivals.map((at, index) => at - (arrivals[index - 1] ?? 0));
    expect(Math.min(...gaps)).toBeGreaterThanOrEqual(0);
    const mean = gaps.reduce((sum, gap) => sum + gap, 0) / count;
    const variance = gaps.reduce((sum, gap) => sum + (gap - mean) ** 2, 0) / count;
    // Standard errors at this count: 0.7 % of the mean, 1.4 % of mean² for the deviation.
    expect(mean).toBeGreaterThan(20 * 0.97);
    expect(mean).toBeLessThan(20 * 1.03);
    expect(Math.sqrt(variance) / mean).toBeCloseTo(1, 1);
  });
});

describe("Poisson arrivals within a window", () => {
  test("offer the rate that is asked for, even in a short one", () => {
    expect(arrivalsWithin(0.3, 28_000, 1)).toHaveLength(8);
    expect(arrivalsWithin(0.01, 1_000, 1)).toHaveLength(1);
  });

  test("come in order and in time, with gaps as far spread as exponential ones are", () => {
    const windowMs = 400_000;
    const arrivals = arrivalsWithin(50, windowMs, 1);
    const gaps = arrivals.map((at, index) => at - (arrivals[index - 1] ?? 0));
    expect(Math.min(...gaps)).toBeGreaterThanOrEqual(0);
    expect(arrivals.at(-1)).toBeLessThanOrEqual(windowMs);
    const mean = gaps.reduce((sum, gap) => sum + gap, 0) / gaps.length;
    const variance = gaps.reduce((sum, gap) => sum + (gap - mean) ** 2, 0) / gaps.length;
    expect(Math.sqrt(variance) / mean).toBeCloseTo(1, 1);
  });
});
