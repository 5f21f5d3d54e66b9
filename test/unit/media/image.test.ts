import {
  containRgb,
  coverRgb,
  decodeDataUrl,
  encodePicture,
  fitPicture,
  mediaTypeOf,
  PICTURE_FORMATS,
  readImage,
  rgbOfPlanes,
  sharp,
} from "#framemill/media/image.js";
import { parsePictureSettings, toPlanes } from "#framemill/models/image-classifier/open.js";
import { describe, expect, it, test } from "vitest";
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

describe("fitting a frame", () => {
  /** A portrait with a name at its top, which covering a landscape frame cuts off. */
  const portrait = async () => {
    const name = { width: 300, height: 40, channels: 3, background: "#ff0000" } as const;
    const input = await sharp({ create: name }).png().toBuffer();
    const paper = { width: 300, height: 600, channels: 3, background: "#0000ff" } as const;
    return await sharp({ create: paper })
      .composite([{ input, left: 0, top: 0 }])
      .png()
      .toBuffer();
  };

  it("shows all of a portrait in the middle, where covering cuts its top off", async () => {
    const at = (rgb: Uint8Array, x: number, y: number) => [
      ...rgb.subarray((y * 320 + x) * 3, (y * 320 + x) * 3 + 3),
    ];
    const fitted = await containRgb(await portrait(), 320, 180);
    const covering = await coverRgb(await portrait(), 320, 180);
    expect(at(fitted, 160, 4)).toEqual([255, 0, 0]);
    expect(at(fitted, 160, 170)).toEqual([0, 0, 255]);
    expect(at(covering, 160, 4)).toEqual([0, 0, 255]);
  });

  it("fills the border with the picture's own blur", async () => {
    const square = Buffer.alloc(
      200 * 200,
      Buffer.from([...Buffer.alloc(20, 0), ...Buffer.alloc(20, 255)]),
    );
    const stripes = sharp(square, { raw: { width: 200, height: 200, channels: 1 } });
    const fitted = await containRgb(await stripes.png().toBuffer(), 320, 180);
    /** Red of the pixels of the middle row. */
    const row = Array.from({ length: 320 }, (_, x) => fitted[(90 * 320 + x) * 3] ?? 0);
    const steepest = (from: number, to: number) =>
      Math.max(...row.slice(from + 1, to).map((red, at) => Math.abs(red - (row[from + at] ?? 0))));
    expect(steepest(72, 248)).toBeGreaterThan(100);
    expect(steepest(0, 68)).toBeLessThan(20);
    expect(Math.max(...row.slice(0, 68))).toBeGreaterThan(200);
  });

  it("keeps a picture of the frame's shape as it is", async () => {
    const wide = await plain(640, 360).png().toBuffer();
    expect(await containRgb(wide, 320, 180)).toEqual(await coverRgb(wide, 320, 180));
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
