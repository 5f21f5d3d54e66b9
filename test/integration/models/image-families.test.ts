import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { PipelineContext } from "#framemill/core/modality.js";
import { addModel } from "#framemill/inference/layouts/add-model.js";
import { loadTextTokenizer, type TextTokenizer } from "#framemill/inference/text-tokenizer.js";
import { createDenoiser } from "#framemill/modalities/image/denoiser.js";
import { type ImageModel, openImageModel } from "#framemill/modalities/image/image-model.js";
import { planImages } from "#framemill/modalities/image/pipeline.js";
import { parseImageRequest } from "#framemill/modalities/image/request.js";
import { describeWithModels, publishedModel } from "../../support/published-models.js";
import { type TinyDiffusion, writeTinyDiffusion } from "../../support/tiny-diffusion.js";

const programs = { ffmpegPath: "ffmpeg", ffprobePath: "ffprobe", espeakPath: "espeak-ng" };
const info = { id: "model-1", modality: "image", createdAtSeconds: 0, concurrency: 1 };
const context: PipelineContext = {
  signal: new AbortController().signal,
  scratchPath: tmpdir(),
  readInput: () => Promise.reject(new Error("no inputs")),
};

const xl: TinyDiffusion = {
  index: { _class_name: "StableDiffusionXLPipeline", force_zeros_for_empty_prompt: true },
  scheduler: {
    _class_name: "EulerDiscreteScheduler",
    beta_schedule: "scaled_linear",
    timestep_spacing: "leading",
  },
  denoiserFolder: "unet",
  denoiserConfig: { in_channels: 4, sample_size: 8, block_out_channels: [1, 1] },
  denoiser: {
    sample: "sample",
    output: "out_sample",
    pooled: "text_embeds",
    timestep: [],
    contextFeatures: 8,
    pooledFeatures: 5,
    hasTimeIds: true,
  },
};
const sd3: TinyDiffusion = {
  index: { _class_name: "StableDiffusion3Pipeline" },
  scheduler: { _class_name: "FlowMatchEulerDiscreteScheduler", shift: 3 },
  denoiserFolder: "transformer",
  denoiserConfig: { in_channels: 4, sample_size: 8, joint_attention_dim: 12 },
  denoiser: {
    sample: "hidden_states",
    output: "out_hidden_states",
    pooled: "pooled_projections",
    timestep: ["batch"],
    contextFeatures: 12,
    pooledFeatures: 8,
    hasTimeIds: false,
  },
};
const fixedBatch = { ...xl, denoiser: { ...xl.denoiser, batch: 1 } };

const PROMPT = "a red boat on a calm sea";
const TIMESTEP = 500;
const GUIDANCE = 4;

describeWithModels("the families of two text encoders, over graphs that have formulas", () => {
  let root: string;
  let tokenizer: Promise<TextTokenizer> | undefined;
  const opened: ImageModel[] = [];

  beforeAll(async () => {
    root = await mkdtemp(join(tmpdir(), "framemill-families-"));
  });
  afterAll(async () => {
    for (const model of opened) await model.close();
    await rm(root, { recursive: true, force: true });
  });

  async function open(name: string, tiny: TinyDiffusion): Promise<ImageModel> {
    const source = join(root, name);
    await mkdir(source);
    await writeTinyDiffusion(source, tiny);
    const options = { modelsDir: join(root, "models"), licence: "Apache-2.0" };
    const { path: modelPath } = await addModel(source, options);
    const model = await openImageModel({ modelPath, threads: 1, ...programs });
    opened.push(model);
    return model;
  }

  /** Mean of the 77 ids that each tokenizer makes of the prompt, over 50 000. */
  async function meanIds(): Promise<readonly [number, number]> {
    const file = (name: string) => publishedModel("tiny-official/image-sd15/tokenizer", name);
    const files = { vocab: file("vocab.json"), merges: file("merges.txt") };
    tokenizer ??= loadTextTokenizer({ ...files, config: file("tokenizer_config.json") });
    const { ids } = (await tokenizer).encode(PROMPT);
    const sum = ids.reduce((total, id) => total + id, 0);
    const padded = sum + (77 - ids.length) * 49_407;
    return [padded / 77 / 50_000, sum / 77 / 50_000];
  }

  /** What the denoiser says of zeros at one timestep. */
  async function denoiseZeros(model: ImageModel, negative?: string): Promise<number> {
    const body = {
      prompt: PROMPT,
      negative_prompt: negative,
      guidance: GUIDANCE,
      size: "128x64",
    };
    const request = parseImageRequest(body, info, () => 1);
    const { plan } = await planImages(model, request, context);
    const { channels, height, width } = plan.grid;
    expect([channels, height, width]).toEqual([4, 8, 16]);
    const values = await createDenoiser(plan)(new Float32Array(4 * 8 * 16), TIMESTEP);
    expect(new Set(values).size).toBe(1);
    return values[0] ?? Number.NaN;
  }

  const guided = (prompt: number, without: number) => without + GUIDANCE * (prompt - without);

  test.each([
    ["SDXL", xl],
    ["SDXL-fixed-batch", fixedBatch],
  ])("%s joins the penultimate states, and is guided away from zeros", async (name, tiny) => {
    const model = await open(name, tiny);
    const [first, second] = await meanIds();
    const size = (2 * (64 + 128)) / 6 / 1_000;
    const always = size + TIMESTEP / 1_000;
    const text = (3 * 11 * first + 5 * 12 * second) / 8 + 102 * second;
    expect(await denoiseZeros(model)).toBeCloseTo(guided(text + always, always), 2);
    expect(await denoiseZeros(model, PROMPT)).toBeCloseTo(text + always, 2);
  });

  test("SD3 adds a place for T5, and is guided away from the empty text", async () => {
    const model = await open("SD3", sd3);
    const [first, second] = await meanIds();
    const states = 77 * (3 * 11 * first + 5 * 12 * second);
    const text = states / 12 / (77 + 256) + (3 * 101 * first + 5 * 102 * second) / 8;
    expect(model.traits).toMatchObject({ steps: 28, guidance: 7, latentMultiple: 2 });
    expect(await denoiseZeros(model, PROMPT)).toBeCloseTo(text + TIMESTEP / 1_000, 2);
    expect(await denoiseZeros(model)).not.toBeCloseTo(text + TIMESTEP / 1_000, 0);
  });
});
