import { describe, expect, test } from "vitest";
import { edgeSharpness } from "#framemill/bench/evaluation/probe.js";

/** Rows of one brightness profile over 64 columns. */
function picture(profile: (column: number) => number) {
  const [width, height] = [64, 4];
  const values = Uint8Array.from({ length: width * height }, (_, at) => profile(at % width));
  return { values, width, height };
}

const ramp = (pixels: number) => (column: number) =>
  Math.round(255 * Math.min(1, Math.max(0, (column - 32) / pixels + 0.5)));

describe("sharpness of edges", () => {
  test("is 1 for a step of one pixel", () => {
    expect(edgeSharpness(picture((column) => (column < 32 ? 20 : 220)))).toBe(1);
  });

  test("falls as edges get softer", () => {
    const [two, four, eight] = [2, 4, 8].map((pixels) => edgeSharpness(picture(ramp(pixels))));
    expect(two).toBeGreaterThan(0.9);
    expect(four).toBeLessThan(two ?? 0);
    expect(four).toBeGreaterThan(eight ?? 1);
    expect(eight).toBeLessThan(0.5);
  });

  test("is not a number where nothing has an edge", () => {
    expect(edgeSharpness(picture(() => 128))).toBeNaN();
    expect(edgeSharpness(picture((column) => 100 + (column % 2) * 20))).toBeNaN();
  });
});
