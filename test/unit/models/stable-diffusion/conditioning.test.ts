import { describe, expect, test } from "vitest";
import { float32, type Tensor } from "#framemill/runtime/tensors/tensor.js";
import { guidanceEmbedding } from "#framemill/models/stable-diffusion/unet.js";
import { sizeCondition } from "#framemill/models/diffusion/image-architecture.js";
import { stableDiffusion3 } from "#framemill/models/stable-diffusion/stable-diffusion-3.js";
import { findArchitecture } from "#framemill/models/image-model.js";
import { positions } from "#framemill/models/flux/architecture.js";
import { packSquares, unpackSquares } from "#framemill/modalities/image/diffuse.js";
import { partialSteps } from "#framemill/modalities/image/pipeline.js";
import type { PromptEncoders } from "#framemill/models/diffusion/prompt-encoders.js";

const values = ({ data }: Tensor) => Array.from(data as Float32Array);
const filled = (value: number, dims: number[]) =>
  float32(new Float32Array(dims.reduce((product, size) => product * size, 1)).fill(value), dims);

describe("the conditioning of a denoiser", () => {
  test("SDXL hears the size twice, and of no cut", () => {
    expect(values(sizeCondition(768, 512))).toEqual([768, 512, 0, 0, 768, 512]);
  });

  test("a consistency model hears its guidance as sines and cosines", () => {
    const features = values(guidanceEmbedding(8.5));
    expect(features).toHaveLength(256);
    expect(features[0]).toBeCloseTo(Math.sin(7_500), 4);
    expect(features[128]).toBeCloseTo(Math.cos(7_500), 4);
    expect(features[127]).toBeCloseTo(Math.sin(0.75), 4);
    expect(values(guidanceEmbedding(8.5, 32))[16]).toBeCloseTo(Math.cos(7_500), 4);
    expect(values(guidanceEmbedding(1)).slice(128)).toEqual(Array.from({ length: 128 }, () => 1));
  });

  test("SD3 reads both CLIP encoders side by side, then T5, zeros where it is left out", async () => {
    const encoders: PromptEncoders = {
      promptTokens: 3,
      contextFeatures: 6,
      has: (role) => role !== "text-encoder-3",
      count: () => 0,
      notes: async () => [],
      run: async (role, _text, outputs) => {
        const [value, width] = role === "text-encoder" ? [1, 2] : [2, 3];
        const entries = outputs.map((output) => {
          const dims = output === "pooled" ? [1, width] : [1, 2, width];
          return [output, filled(value, dims)] as const;
        });
        return Object.fromEntries(entries) as Record<(typeof outputs)[number], Tensor>;
      },
    };
    const { context, pooled } = await stableDiffusion3.encode(encoders, "a boat");
    expect(context.dims).toEqual([1, 5, 6]);
    const row = [1, 1, 2, 2, 2, 0];
    expect(values(context)).toEqual([...row, ...row, ...Array.from({ length: 18 }, () => 0)]);
    expect(pooled && values(pooled)).toEqual([1, 1, 2, 2, 2]);
  });

  test("FLUX.2 shifts noise by tokens and steps, by tokens alone of a large picture", () => {
    const klein = findArchitecture("Flux2KleinPipeline");
    expect(klein.shift?.(4_096, 4)).toBeCloseTo(2.291_179_9, 6);
    expect(klein.shift?.(256, 28)).toBeCloseTo(1.786_109_9, 6);
    expect(klein.shift?.(8_192, 50)).toBeCloseTo(1.843_326_5, 6);
  });

  test("Flux's latents go in squares of four, each with its place", () => {
    const grid = { channels: 2, height: 2, width: 4 };
    const planes = Float32Array.from({ length: 16 }, (_, index) => index);
    const packed = packSquares(planes, grid);
    expect(Array.from(packed)).toEqual([0, 1, 4, 5, 8, 9, 12, 13, 2, 3, 6, 7, 10, 11, 14, 15]);
    expect(unpackSquares(packed, grid)).toEqual(planes);
    expect(values(positions(2, 2))).toEqual([0, 0, 0, 0, 0, 1, 0, 1, 0, 0, 1, 1]);
  });

  test("a pipeline that does not run is named", () => {
    expect(findArchitecture("ORTStableDiffusionXLImg2ImgPipeline")).toBe(
      findArchitecture("StableDiffusionXLPipeline"),
    );
    expect(() => findArchitecture("KandinskyPipeline")).toThrow(
      "KandinskyPipeline is not a pipeline",
    );
  });

  test("unfinished pictures are spread over the steps, and none is the last", () => {
    expect(partialSteps(20, 3)).toEqual([5, 10, 15]);
    expect(partialSteps(4, 3)).toEqual([1, 2, 3]);
    expect(partialSteps(2, 3)).toEqual([1]);
    expect(partialSteps(1, 3)).toEqual([]);
  });
});
