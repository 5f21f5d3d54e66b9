import { describe, expect, test } from "vitest";
import type { ModelInfo } from "#framemill/core/modality.js";
import { parseImageRequest } from "#framemill/modalities/image/request.js";

const free: ModelInfo = { id: "model-1", modality: "image", createdAtSeconds: 0, concurrency: 1 };
const listed: ModelInfo = { ...free, sizes: ["512x512", "768x512"] };

const parse = (body: object, model = free) =>
  parseImageRequest({ prompt: "a boat", ...body }, model, () => 7);

describe("the body of an image request", () => {
  test("leaves to the model what it does not say", () => {
    expect(parse({})).toEqual({
      prompt: "a boat",
      negativePrompt: null,
      n: 1,
      size: null,
      quality: "medium",
      format: "png",
      compression: 100,
      delivery: "b64_json",
      stream: false,
      partialImages: 0,
      seed: 7,
      steps: null,
      guidance: null,
    });
  });

  test("takes the nulls that OpenAI's clients send, and digits of a form", () => {
    const nulls = { n: null, size: null, quality: null, stream: null, background: null };
    expect(parse({ ...nulls, seed: "12", guidance: "3.5" })).toMatchObject({
      n: 1,
      seed: 12,
      guidance: 3.5,
    });
  });

  test.each([
    ["standard", "medium"],
    ["hd", "high"],
    ["auto", "medium"],
    ["low", "low"],
  ])("reads the quality %s as %s", (quality, tier) => {
    expect(parse({ quality }).quality).toBe(tier);
  });

  test("makes only the sizes that the model lists", () => {
    expect(parse({ size: "768x512" }, listed).size).toEqual({ width: 768, height: 512 });
    expect(() => parse({ size: "640x640" }, listed)).toThrow("one of 512x512, 768x512");
  });

  test("has what other servers call it, where both say the same", () => {
    const others = { width: 768, height: 512, num_inference_steps: 20, guidance_scale: 4.5 };
    const own = { size: { width: 768, height: 512 }, steps: 20, guidance: 4.5 };
    expect(parse(others, listed)).toMatchObject(own);
    expect(parse({ ...others, size: "768x512", steps: 20 }, listed)).toMatchObject(own);
    for (const [fields, param] of [
      [{ num_inference_steps: 20, steps: 10 }, "steps"],
      [{ num_inference_steps: 101 }, "num_inference_steps"],
      [{ guidance_scale: -1 }, "guidance_scale"],
      [{ height: 512 }, "width"],
    ] as const)
      expect(() => parse(fields)).toThrow(expect.objectContaining({ param }));
  });

  test("is read as vLLM-Omni's benchmark sends it", () => {
    const body = {
      model: free.id,
      n: 1,
      size: "1024x1024",
      response_format: "b64_json",
      seed: 42,
      num_inference_steps: 20,
    };
    expect(parse(body)).toMatchObject({ size: { width: 1_024, height: 1_024 }, steps: 20 });
  });

  test("makes multiples of 64 pixels where the model lists nothing", () => {
    expect(parse({ size: "1536x1024" }).size).toEqual({ width: 1_536, height: 1_024 });
    for (const size of ["100x100", "4096x64", "0x64", "big", "64 x 64"])
      expect(() => parse({ size })).toThrow(/size must be auto or/);
  });

  test.each([
    [{ prompt: " " }, "prompt"],
    [{ prompt: "a".repeat(32_001) }, "prompt"],
    [{ n: 11 }, "n"],
    [{ background: "transparent" }, "background"],
    [{ output_compression: 50 }, "output_compression"],
    [{ stream: true, response_format: "url" }, "response_format"],
    [{ partial_images: 2 }, "partial_images"],
    [{ stream: true, partial_images: 4 }, "partial_images"],
    [{ guidance: 31 }, "guidance"],
    [{ steps: 0 }, "steps"],
  ])("refuses %j and names %s", (body, param) => {
    const refusal = { code: "invalid_value", param };
    expect(() => parse(body)).toThrow(expect.objectContaining(refusal));
  });
});
