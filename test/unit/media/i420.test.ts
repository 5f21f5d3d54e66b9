import { describe, expect, test } from "vitest";
import { evenCover, halfSizeRgb, i420OfRgb, type RgbFrames } from "#framemill/media/i420.js";

/** Two frames of 6 × 4 pixels, each of one colour in [-1, 1]. */
function frames(...colours: (readonly [number, number, number])[]): RgbFrames {
  const size = 6 * 4;
  const values = new Float32Array(3 * colours.length * size);
  for (const [frame, colour] of colours.entries())
    for (const [channel, value] of colour.entries())
      values.fill(
        value,
        (channel * colours.length + frame) * size,
        (channel * colours.length + frame + 1) * size,
      );
  return { values, frameCount: colours.length, width: 6, height: 4 };
}

describe("frames of a decoder", () => {
  const cut = { width: 4, height: 4 };

  test("become limited-range BT.709 that reads as the same colours", () => {
    const shown = frames([0.2, -0.4, 0.6], [3, -3, -1]);
    const bytes = i420OfRgb(shown, { first: 0, count: 2 }, cut);
    const expected = [
      [153, 77, 204],
      [255, 0, 0],
    ];
    for (const [index, colour] of expected.entries()) {
      const pixels = bytes.subarray(index * 24, (index + 1) * 24);
      const rgb = halfSizeRgb({ pixels, ...cut }).pixels;
      for (const [channel, value] of colour.entries())
        expect(Math.abs((rgb[channel] ?? 0) - value)).toBeLessThanOrEqual(2);
    }
    expect(i420OfRgb(shown, { first: 1, count: 1 }, cut)).toEqual(bytes.subarray(24));
  });

  test("are cut in the middle", () => {
    const shown = frames([-1, -1, -1]);
    for (let row = 0; row < 4; row += 1)
      for (let channel = 0; channel < 3; channel += 1) shown.values[channel * 24 + row * 6] = 1;
    expect([...i420OfRgb(shown, { first: 0, count: 1 }, cut).subarray(0, 16)]).toEqual(
      Array(16).fill(16),
    );
  });

  test("that are not numbers are refused", () => {
    const shown = frames([0, Number.NaN, 0]);
    expect(() => i420OfRgb(shown, { first: 0, count: 1 }, cut)).toThrow(
      expect.objectContaining({ code: "invalid_output" }),
    );
  });

  test("keep the clip's shape, with even sides", () => {
    const shape = { width: 1280, height: 720 };
    expect(evenCover({ width: 832, height: 480 }, shape)).toEqual({ width: 832, height: 468 });
    expect(evenCover({ width: 1280, height: 720 }, shape)).toEqual(shape);
    expect(evenCover({ width: 480, height: 832 }, shape)).toEqual({ width: 480, height: 270 });
  });
});
