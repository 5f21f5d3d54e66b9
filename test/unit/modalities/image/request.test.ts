import { describe, expect, test } from "vitest";
import type { ModelInfo } from "#framemill/core/modality.js";
import { parseImageEdit, parseImageRequest } from "#framemill/modalities/image/request.js";

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

describe("the body of an edit", () => {
  const file = { filename: "boat.png", mediaType: "image/png", bytes: new Uint8Array(1) };
  const edit = (body: object, model = free) =>
    parseImageEdit({ prompt: "a boat", image: file, ...body }, model, () => 7);

  test("takes a file alone or as a list of one, and says how far to go from it", () => {
    expect(edit({})).toMatchObject({ image: file, strength: 0.8, request: { seed: 7 } });
    expect(edit({ image: [file], mask: file })).toMatchObject({ image: file, strength: 1 });
    expect(edit({ input_fidelity: "high" }).strength).toBe(0.5);
    expect(edit({ input_fidelity: "high", strength: "0.3" }).strength).toBe(0.3);
  });

  test.each([
    [{ image: [file, file] }, "image must be one file part, got an array of 2"],
    [{ image: "data:image/png;base64,AAAA" }, "image must be one file part"],
    [{ strength: 0 }, "strength must be a number from 0.01 to 1, got 0"],
    [{ input_fidelity: "exact" }, "input_fidelity must be one of low, high"],
  ])("refuses %j", (body, sentence) => {
    expect(() => edit(body)).toThrow(sentence);
  });

  test("is refused where the model encodes no pictures", () => {
    expect(() => edit({}, { ...free, reads: ["text"] })).toThrow(
      "model-1 makes them from a prompt alone, without a vae_encoder",
    );
    expect(edit({}, { ...free, reads: ["text", "image"] }).strength).toBe(0.8);
  });
});
