import { halfSizeRgb } from "#framemill/media/i420.js";
import { sharp } from "#framemill/media/image.js";
import { joinTiles, sheetFrames, sheetTile, thumbnailWebp } from "#framemill/media/spritesheet.js";
import { describe, expect, it } from "vitest";

/** BT.709 limited range, from the matrix of ITU-R BT.709-6: black, white, the primaries. */
const COLOURS = [
  { rgb: [0, 0, 0], yuv: [16, 128, 128] },
  { rgb: [255, 255, 255], yuv: [235, 128, 128] },
  { rgb: [255, 0, 0], yuv: [63, 102, 240] },
  { rgb: [0, 255, 0], yuv: [173, 42, 26] },
  { rgb: [0, 0, 255], yuv: [32, 240, 118] },
] as const;

describe("pictures of frames", () => {
  it.each(COLOURS)("shows $yuv as $rgb", ({ rgb, yuv }) => {
    const { pixels, width, height } = halfSizeRgb(frame(4, 2, yuv));
    expect([width, height]).toEqual([2, 1]);
    // Eight-bit YCbCr rounds each primary by up to 2 of 255.
    for (const [index, value] of pixels.entries())
      expect(Math.abs(value - (rgb[index % 3] ?? 0))).toBeLessThanOrEqual(2);
  });

  it("makes a thumbnail 640 pixels long, upright ones too", async () => {
    const size = async (width: number, height: number) => {
      const picture = await sharp(
        await thumbnailWebp(frame(width, height, COLOURS[2].yuv)),
      ).metadata();
      return `${picture.format} ${picture.width}x${picture.height}`;
    };
    expect(await size(1280, 720)).toBe("webp 640x360");
    expect(await size(1080, 1920)).toBe("webp 360x640");
  });

  it("lays frames out like text, four in a row", async () => {
    const frames = Array.from({ length: 6 }, (_, index) =>
      frame(1280, 720, COLOURS[index % 5]?.yuv ?? [16, 128, 128]),
    );
    const { data, info } = await sharp(await joinTiles(await Promise.all(frames.map(sheetTile))))
      .raw()
      .toBuffer({ resolveWithObject: true });
    expect([info.width, info.height]).toEqual([1280, 360]);
    const at = (x: number, y: number) => [
      ...data.subarray((y * 1280 + x) * 3, (y * 1280 + x) * 3 + 3),
    ];
    const [black, white] = [at(160, 90), at(160 + 320, 90)];
    expect(Math.max(...black)).toBeLessThan(8);
    expect(Math.min(...white)).toBeGreaterThan(247);
    // The sixth frame is black again; behind it the sheet is empty.
    expect(Math.max(...at(160 + 320, 180 + 90))).toBeLessThan(8);
    expect(Math.max(...at(960, 180 + 90))).toBeLessThan(8);
  });

  it("spreads the tiles over the clip", () => {
    expect(sheetFrames(96, 4)).toEqual([0, 24, 48, 72]);
    expect(sheetFrames(3)).toEqual([0, 1, 2]);
  });
});

function frame(width: number, height: number, [y, cb, cr]: readonly [number, number, number]) {
  const luma = width * height;
  const pixels = new Uint8Array(luma * 1.5)
    .fill(y, 0, luma)
    .fill(cb, luma, luma * 1.25)
    .fill(cr, luma * 1.25);
  return { pixels, width, height };
}
