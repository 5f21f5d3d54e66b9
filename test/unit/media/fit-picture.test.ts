import sharp from "sharp";
import { describe, expect, test } from "vitest";
import { parsePictureSettings, toPlanes } from "#framemill/models/image-classifier/open.js";
import { fitPicture } from "#framemill/media/fit-picture.js";

/** 96 × 64: red, green and blue thirds. */
async function thirds(): Promise<Uint8Array> {
  const pixels = Buffer.alloc(96 * 64 * 3);
  for (let pixel = 0; pixel < 96 * 64; pixel += 1)
    pixels[pixel * 3 + Math.floor((pixel % 96) / 32)] = 255;
  return sharp(pixels, { raw: { width: 96, height: 64, channels: 3 } })
    .png()
    .toBuffer();
}

describe("a classifier's picture", () => {
  test("is stretched to a size", async () => {
    const settings = parsePictureSettings({ size: { height: 4, width: 6 }, resample: 0 });
    const rgb = await fitPicture(await thirds(), { ...settings, size: [6, 4] });
    expect([...rgb.subarray(0, 18)]).toEqual([
      255, 0, 0, 255, 0, 0, 0, 255, 0, 0, 255, 0, 0, 0, 255, 0, 0, 255,
    ]);
  });

  test("is scaled by its shorter side and cut from the middle, as CLIP's processor does", async () => {
    const file = { size: { shortest_edge: 32 }, do_center_crop: true, crop_size: 16, resample: 0 };
    const settings = parsePictureSettings(file);
    expect(settings.crop).toEqual({ width: 16, height: 16 });
    const rgb = await fitPicture(await thirds(), { ...settings, size: [16, 16] });
    expect(rgb).toHaveLength(16 * 16 * 3);
    expect(
      new Set(Array.from({ length: 256 }, (_, at) => [...rgb.subarray(at * 3, at * 3 + 3)].join())),
    ).toEqual(new Set(["0,255,0"]));
  });

  test("is black where it is smaller than the cut", async () => {
    const rgb = await fitPicture(await thirds(), {
      resize: null,
      filter: "bilinear",
      size: [98, 66],
    });
    expect([...rgb.subarray(0, 3)]).toEqual([0, 0, 0]);
    expect([...rgb.subarray(99 * 3, 99 * 3 + 3)]).toEqual([255, 0, 0]);
  });

  test("becomes planes of normalised values", () => {
    const settings = parsePictureSettings({ image_mean: [0.5, 0, 0], image_std: [0.5, 1, 0.5] });
    const { planes } = toPlanes(Uint8Array.of(255, 0, 51, 0, 255, 0), settings);
    [1, -1, 0, 1, 0.4, 0].forEach((value, at) => expect(planes[at]).toBeCloseTo(value, 5));
  });
});
