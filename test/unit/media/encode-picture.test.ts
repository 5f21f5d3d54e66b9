import { describe, expect, test } from "vitest";
import { encodePicture, PICTURE_FORMATS, rgbOfPlanes } from "#framemill/media/encode-picture.js";
import { coverRgb, mediaTypeOf } from "#framemill/media/image.js";

describe("pictures of planes", () => {
  test("spread -1 to 1 over all 256 values, and cut what lies beyond", () => {
    const planes = Float32Array.of(-1, 1, 0, 3, -9, 0.5);
    expect(Array.from(rgbOfPlanes(planes, 2, 1).pixels)).toEqual([0, 128, 0, 255, 255, 191]);
  });

  test.each(PICTURE_FORMATS)("become %s, and PNG keeps every pixel", async (format) => {
    const planes = Float32Array.from({ length: 64 * 64 * 3 }, (_, index) => Math.sin(index / 900));
    const rgb = rgbOfPlanes(planes, 64, 64);
    const bytes = await encodePicture(rgb, format, 95);
    expect(mediaTypeOf(bytes)).toBe(`image/${format}`);
    const back = await coverRgb(bytes, 64, 64);
    const greatest = rgb.pixels.reduce(
      (most, value, index) => Math.max(most, Math.abs(value - (back[index] ?? 0))),
      0,
    );
    expect(greatest).toBeLessThanOrEqual(format === "png" ? 0 : 24);
  });
});
