import { describe, expect, test } from "vitest";
import type { AdmitContext, ModelInfo } from "#framemill/core/modality.js";
import { findPrices, listPrices } from "#framemill/core/prices.js";
import { quote } from "#framemill/core/usage.js";
import { parseImageInput, parseVideoBody } from "#framemill/modalities/video/request.js";
import { video } from "#framemill/modalities/video/index.js";

const model: ModelInfo = {
  id: "service-motion-1",
  modality: "video",
  createdAtSeconds: 0,
  concurrency: 1,
  minSeconds: 4,
  maxSeconds: 10,
  sizes: ["1280x720", "1920x1080"],
};
const context: AdmitContext = {
  model,
  path: "/v1/videos",
  saveInput: () => Promise.reject(new Error("nothing to save")),
  findEarlier: async () => undefined,
};
const body = { model: model.id, prompt: "a red boat", seconds: 4 };
const parse = (fields: object) => parseVideoBody({ ...body, ...fields }, model);

describe("a video request", () => {
  test.each([4, 10, "4", "10"])("takes %j seconds and answers a number", (seconds) => {
    expect(parse({ seconds }).seconds).toBe(Number(seconds));
  });

  test.each([
    [{ seconds: 3 }, "seconds", "invalid_value", "4 to 10, got 3"],
    [{ seconds: 11 }, "seconds", "invalid_value", "4 to 10, got 11"],
    [{ seconds: 4.5 }, "seconds", "invalid_value", "4.5"],
    [{ seconds: "abc" }, "seconds", "invalid_value", "abc"],
    [{ seconds: undefined }, "seconds", "missing_required_parameter", "required"],
    [{ prompt: undefined }, "prompt", "missing_required_parameter", "required"],
    [{ prompt: " " }, "prompt", "invalid_value", "empty"],
    [{ prompt: "x".repeat(1_000_000) }, "prompt", "invalid_value", "at most 4096"],
    [{ prompt: 7 }, "prompt", "invalid_value", "string"],
    [{ quality: "ultra" }, "quality", "invalid_value", "fast, standard, high"],
    [{ quality: "fast", tier: "fast" }, "tier", "invalid_value", "same field"],
    [{ image: "a", input_reference: "b" }, "input_reference", "invalid_value", "same field"],
    [{ size: "1920x1080", quality: "fast" }, "size", "invalid_value", "1280x720"],
    [{ size: "1920x1200" }, "size", "invalid_value", "1280x720"],
    [{ size: "720x1280" }, "size", "invalid_value", "1280x720"],
    [{ quality: "high", resolution: "720p" }, "resolution", "invalid_value", "1080p"],
    [{ quality: "fast", generate_audio: true }, "generate_audio", "invalid_value", "false"],
    [{ seed: -1 }, "seed", "invalid_value", "-1"],
    [{ fps: 30 }, "num_frames", "missing_required_parameter", "required where fps is given"],
    [{ width: 1_280 }, "height", "missing_required_parameter", "required where width is given"],
    [{ width: "wide", height: 720 }, "width", "invalid_value", "wide"],
    [{ width: 512, height: 512 }, "size", "invalid_value", "1280x720"],
    [{ size: "1280x720", width: 1_920, height: 1_080 }, "size", "invalid_value", "width 1920"],
    [{ num_frames: 81, fps: 16 }, "seconds", "invalid_value", "num_frames 81, fps 16"],
    [{ seconds: null, num_frames: 33, fps: 24 }, "num_frames", "invalid_value", "got 33 / 24"],
    [{ metadata: { a: 1 } }, "metadata.a", "invalid_value", "string"],
  ])("%j is refused by name", (fields, param, code, reason) => {
    expect(() => parse(fields)).toThrow(
      expect.objectContaining({ param, code, message: expect.stringContaining(reason) }),
    );
  });

  test("takes the words and digits of a multipart form", () => {
    const parsed = parse({ seed: "42", generate_audio: "true", tier: "high", size: "1920x1080" });
    expect(parsed).toMatchObject({ seed: 42, generate_audio: true, quality: "high" });
  });

  test.each([
    [{ size: "1920x1080" }, "high", [1_920, 1_080]],
    [{ size: "1080x1920" }, "high", [1_080, 1_920]],
    [{ size: "720x1280" }, "standard", [720, 1_280]],
    [{ size: "720x1280", tier: "fast" }, "fast", [720, 1_280]],
    [{ width: 1_920, height: 1_080 }, "high", [1_920, 1_080]],
    [{ width: "720", height: "1280", size: "720x1280" }, "standard", [720, 1_280]],
    [{}, "standard", [1_280, 720]],
  ])("%j makes a clip of the tier %s", async (fields, quality, [width, height]) => {
    const { sizes: _, ...anySize } = model;
    const request = await video.admit({ ...body, ...fields }, { ...context, model: anySize });
    expect(request).toMatchObject({ quality, width, height });
  });

  test.each([
    [{ num_frames: 81, fps: 16 }, 5],
    [{ num_frames: "240", fps: "24" }, 10],
    [{ num_frames: 96, fps: 23.976, seconds: 4 }, 4],
  ])("%j lasts %i seconds", (fields, seconds) => {
    expect(parse({ seconds: undefined, ...fields }).seconds).toBe(seconds);
  });

  test("costs the tier's price for each second", async () => {
    const amounts = await Promise.all(
      ["fast", "standard", "high"].map(async (quality) => {
        const request = await video.admit({ ...body, quality, seconds: 10 }, context);
        const tier = { modality: "video", tier: request.quality, model: model.id };
        return quote(findPrices(listPrices([video]), tier), video.mostUnits(request, model))
          .amountNanoUsd;
      }),
    );
    expect(amounts).toEqual([800_000_000, 1_800_000_000, 3_500_000_000]);
  });

  test("bills the seconds it rendered, not the seconds asked for", async () => {
    const request = await video.admit({ ...body, seconds: 10 }, context);
    expect(video.countUnits(request, { frameCount: 96 })).toEqual({ videoSeconds: 4 });
  });

  test("bills by the model's own frame rate", async () => {
    const request = await video.admit({ ...body, seconds: 5 }, context);
    const output = { frameCount: 80, frameRate: 16 };
    expect(video.countUnits(request, output)).toEqual({ videoSeconds: 5 });
  });

  test("has the first tier of a model that lacks the usual one", () => {
    const silent: ModelInfo = { ...model, id: "wan", tiers: ["fast"], reads: ["text"] };
    expect(parseVideoBody(body, silent).quality).toBe("fast");
    const refused = [
      [{ quality: "standard" }, "quality", "quality must be fast for wan, got standard"],
      [{ tier: "high" }, "tier", "quality must be fast for wan, got high"],
      [{ image: "x" }, "image", "image is not read by wan"],
      [{ input_reference: "x" }, "input_reference", "input_reference is not read by wan"],
    ] as const;
    for (const [fields, param, reason] of refused)
      expect(() => parseVideoBody({ ...body, ...fields }, silent)).toThrow(
        expect.objectContaining({ param, message: expect.stringContaining(reason) }),
      );
  });

  test("needs a picture for a model that reads no text alone", () => {
    const animates: ModelInfo = { ...model, id: "wan-i2v", reads: ["image"] };
    expect(() => parseVideoBody(body, animates)).toThrow(
      expect.objectContaining({ param: "image", message: expect.stringContaining("wan-i2v") }),
    );
    const image = "data:image/png;base64,AA==";
    expect(parseVideoBody({ ...body, image }, animates)).toMatchObject({ image });
    expect(video.example(animates)).toMatchObject({ image: expect.stringContaining("data:") });
  });

  test.each([
    ["https://example.com/a.png", "invalid_image_url"],
    [{ image_url: "http://127.0.0.1/" }, "invalid_image_url"],
    [{ url: "file:///etc/passwd" }, "invalid_image_url"],
    ["hello", "invalid_image_url"],
    [{ other: 1 }, "invalid_value"],
    [12, "invalid_value"],
  ])("never fetches a picture: %j", (value, code) => {
    expect(() => parseImageInput(value, "image")).toThrow(
      expect.objectContaining({ code, param: "image" }),
    );
  });
});
