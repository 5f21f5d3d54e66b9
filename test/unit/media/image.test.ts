import { coverRgb, decodeDataUrl, mediaTypeOf, readImage } from "#framemill/media/image.js";
import { sharp } from "#framemill/media/safe-sharp.js";
import { describe, expect, it } from "vitest";
import { pngBomb } from "../../support/png-bomb.js";

const param = "input_reference";
const plain = (width: number, height: number) =>
  sharp({ create: { width, height, channels: 3, background: "#336699" } });
const hls = Buffer.from("#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\nfile:///etc/passwd\n");

describe("reading an uploaded picture", () => {
  it.each(["png", "jpeg", "webp"] as const)(
    "accepts %s and writes it anew as PNG",
    async (format) => {
      const image = await readImage(await plain(320, 200).toFormat(format).toBuffer(), { param });
      expect(image).toMatchObject({ width: 320, height: 200, mediaType: "image/png" });
      expect(mediaTypeOf(image.bytes)).toBe("image/png");
    },
  );

  it("turns it upright as its EXIF orientation says and drops the metadata", async () => {
    const bytes = await plain(400, 300).withMetadata({ orientation: 6 }).jpeg().toBuffer();
    const image = await readImage(bytes, { param });
    expect(image).toMatchObject({ width: 300, height: 400 });
    expect((await sharp(image.bytes).metadata()).orientation).toBeUndefined();
  });

  it("shrinks it to what a 1080p frame can use and never enlarges", async () => {
    const image = await readImage(await plain(4000, 3000).jpeg().toBuffer(), { param });
    expect(image).toMatchObject({ width: 1920, height: 1440 });
  });

  it("puts transparent pixels on white", async () => {
    const clear = sharp({
      create: { width: 64, height: 64, channels: 4, background: "#00000000" },
    });
    const { bytes } = await readImage(await clear.png().toBuffer(), { param });
    expect([...(await coverRgb(bytes, 2, 2))]).toEqual(Array.from({ length: 12 }, () => 255));
  });

  it.each([
    ["an SVG", Buffer.from('<svg xmlns="http://www.w3.org/2000/svg" width="100" height="100"/>')],
    ["an HLS list called .png", hls],
    ["a GIF", Buffer.from("GIF89a\x40\0\x40\0\x80\0\0", "latin1")],
    ["nothing", Buffer.alloc(0)],
  ])("refuses %s by its first bytes", async (_, bytes) => {
    await expect(readImage(bytes, { param })).rejects.toMatchObject({
      code: "invalid_image_format",
      param,
    });
  });

  it.each([
    [
      "an HLS list behind a PNG signature",
      async () => Buffer.concat([Buffer.from("\x89PNG\r\n\x1a\n", "latin1"), hls]),
    ],
    ["a PNG that ends early", async () => (await noise().png().toBuffer()).subarray(0, 4000)],
    ["a JPEG that ends early", async () => (await noise().jpeg().toBuffer()).subarray(0, 4000)],
    ["a WebP that ends early", async () => (await noise().webp().toBuffer()).subarray(0, 2000)],
  ])("refuses %s as not decodable", async (_, bytes) => {
    await expect(readImage(await bytes(), { param })).rejects.toMatchObject({
      code: "image_parse_error",
      param,
    });
  });

  it("refuses a 31 KB picture of 256 megapixels by its header", async () => {
    const bomb = pngBomb(16_384, 16_384);
    expect(bomb.byteLength).toBeLessThan(40_000);
    const refusal = {
      code: "image_too_large",
      message: "input_reference must have at most 40000000 pixels, got 268435456 (16384 × 16384)",
    };
    await expect(readImage(bomb, { param })).rejects.toMatchObject(refusal);
    // Whoever decoded it would find the pixels missing.
    await expect(readImage(bomb.subarray(0, 60), { param })).rejects.toMatchObject(refusal);
    const small = pngBomb(1_024, 1_024).subarray(0, 60);
    await expect(readImage(small, { param })).rejects.toMatchObject({ code: "image_parse_error" });
  });

  it.each([
    [63, 400, "invalid_value", "sides of at least 64 pixels, got 63 × 400"],
    [400, 8193, "image_too_large", "sides of at most 8192 pixels, got 400 × 8193"],
  ])("refuses %i × %i", async (width, height, code, sentence) => {
    const bytes = await plain(width, height).png().toBuffer();
    const refusal = { code, param, message: expect.stringContaining(sentence) };
    await expect(readImage(bytes, { param })).rejects.toMatchObject(refusal);
  });

  it("keeps every other libvips loader shut", async () => {
    await expect(
      sharp(Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>')).metadata(),
    ).rejects.toThrow("unsupported image format");
    const tiff = Buffer.from("II*\0\b\0\0\0\0\0", "latin1");
    await expect(sharp(tiff).metadata()).rejects.toThrow("unsupported image format");
  });
});

describe("covering a frame", () => {
  it("fills it from the middle, three bytes a pixel, grey pictures too", async () => {
    const left = { input: await plain(100, 100).png().toBuffer(), left: 0, top: 0 };
    const wide = await sharp({
      create: { width: 300, height: 100, channels: 3, background: "#ff0000" },
    })
      .composite([left])
      .png()
      .toBuffer();
    const square = await coverRgb(wide, 100, 100);
    expect([...square.subarray(50 * 300 + 150, 50 * 300 + 153)]).toEqual([255, 0, 0]);
    const grey = await plain(80, 80).greyscale().png().toBuffer();
    expect((await coverRgb(grey, 32, 18)).byteLength).toBe(32 * 18 * 3);
  });
});

describe("decoding a data URL", () => {
  it("gives the bytes", () => {
    expect([...decodeDataUrl("data:image/png;base64,AQID", param)]).toEqual([1, 2, 3]);
    expect([...decodeDataUrl("data:image/jpeg;charset=utf-8;base64,AQI=", param)]).toEqual([1, 2]);
  });

  it.each([
    ["data:image/png;base64,", "invalid_base64_image"],
    ["data:image/png;base64,AQ*D", "invalid_base64_image"],
    ["data:image/png;base64,AQIDA", "invalid_base64_image"],
    ["data:image/png,AQID", "invalid_base64_image"],
    ["AQID", "invalid_base64_image"],
    ["", "invalid_base64_image"],
    ["data:image/svg+xml;base64,AQID", "invalid_image_format"],
    ["data:text/html;base64,AQID", "invalid_image_format"],
  ])("refuses %j as %s", (text, code) => {
    expect(() => decodeDataUrl(text, param)).toThrow(expect.objectContaining({ code, param }));
  });
});

function noise() {
  const gaussian = { type: "gaussian", mean: 128, sigma: 40 } as const;
  return sharp({
    create: { width: 200, height: 200, channels: 3, background: "#000000", noise: gaussian },
  });
}
