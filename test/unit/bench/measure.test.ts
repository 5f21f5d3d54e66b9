import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { distribute, median } from "#framemill/bench/report/measure.js";

const wait = { what: "wait", unit: "ms" };
const upTo = (count: number) => Array.from({ length: count }, (_, index) => index + 1);

describe("percentiles", () => {
  test("are measurements by nearest rank, whatever the order they came in", () => {
    expect(distribute(wait, upTo(100).toReversed())).toEqual({
      ...wait,
      p50: 50,
      p90: 90,
      p99: 99,
      count: 100,
    });
    expect(distribute(wait, [7])).toMatchObject({ p50: 7, p90: 7, p99: 7, count: 1 });
    expect(distribute(wait, upTo(10))).toMatchObject({ p50: 5, p90: 9, p99: 10 });
  });

  test("never leave the range of what was measured, and never fall as the share rises", () => {
    const measured = fc.array(fc.integer({ min: 0, max: 9_999 }), { minLength: 1 });
    fc.assert(
      fc.property(measured, (values) => {
        const { p50, p90, p99 } = distribute(wait, values);
        expect(values).toEqual(expect.arrayContaining([p50, p90, p99]));
        expect(p50).toBeLessThanOrEqual(p90);
        expect(p90).toBeLessThanOrEqual(p99);
      }),
    );
  });

  test("the median of an even count lies between the middle two", () => {
    expect(median([4, 1, 3, 2])).toBe(2.5);
    expect(median([9, 1, 5])).toBe(5);
  });
});
