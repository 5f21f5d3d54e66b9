import { afterAll, describe, expect, test } from "vitest";
import { gaussianNoise } from "#framemill/models/sampling/noise.js";
import { createDenoiser } from "#framemill/modalities/image/diffuse.js";
import type { ImageModel } from "#framemill/models/image-model.js";
import {
  createImageModels,
  filled,
  planPicture,
  pooledOf,
  PROMPT,
  statesOf,
} from "../../support/image-models.js";
import { deviation } from "../../support/npy.js";
import { reading } from "../../support/graph-readings.js";
import { clipIds, t5Ids } from "../../support/prompt-tokenizers.js";
import {
  STABLE_DIFFUSION,
  type TinyDenoiser,
  type TinyDiffusion,
} from "../../support/tiny-diffusion.js";

const NEGATIVE = "a blurry sea";
const TIMESTEP = 500;
/** Of values up to 10 that are float32. */
const TOLERANCE = 1e-5;

const models = createImageModels();
afterAll(() => models.close());

/** What the denoiser adds to each latent of a sample at one timestep. */
async function added(model: ImageModel, body: object): Promise<Float32Array> {
  const plan = await planPicture(model, body);
  const { channels, height, width } = plan.grid;
  const sample = gaussianNoise(3, channels * height * width);
  const { denoise, close } = createDenoiser(plan);
  const said = await denoise(sample, TIMESTEP);
  close();
  return said.map((value, at) => value - (sample[at] ?? Number.NaN));
}

const sideBySide = (left: readonly number[][], right: readonly number[][]): number[][] =>
  left.map((row, at) => row.concat(right[at] ?? []));

const guided = (guidance: number, prompt: number, free: number) =>
  free + guidance * (prompt - free);

describe("Stable Diffusion 1 and 2", () => {
  const variant = (changes: Partial<TinyDenoiser>): TinyDiffusion => {
    return { ...STABLE_DIFFUSION, denoiser: { ...STABLE_DIFFUSION.denoiser, ...changes } };
  };
  const [encoder] = STABLE_DIFFUSION.encoders;
  const read = (prompt: string) => reading(statesOf(clipIds(prompt), 4, 0.2));

  test.each<[string, TinyDiffusion, number]>([
    ["as optimum writes it", STABLE_DIFFUSION, TOLERANCE],
    [
      "as old diffusers write it, with a timestep a sample and ids of 32 bits",
      {
        ...variant({ timestep: { dims: ["batch"], weight: 1 / 10_000 } }),
        index: { _class_name: "OnnxStableDiffusionPipeline" },
        encoders: encoder ? [{ ...encoder, ids: "int32" }] : [],
      },
      TOLERANCE,
    ],
    [
      "as NVIDIA writes it, with one timestep and an output of its own name",
      variant({ timestep: { dims: [1], weight: 1 / 10_000 }, output: "latent" }),
      TOLERANCE,
    ],
    ["fixed to one sample a run", variant({ batch: 1 }), TOLERANCE],
    [
      "with weights beside its graph",
      { ...STABLE_DIFFUSION, encoders: encoder ? [{ ...encoder, isExternal: true }] : [] },
      TOLERANCE,
    ],
    // Sums of float16 values up to 4, with 11 bits each, at guidance 4.
    ["of float16", variant({ type: "float16" }), 2e-2],
  ])("%s, says the same", async (_, tiny, tolerance) => {
    const model = await models.open(tiny);
    expect(model.traits).toMatchObject({ steps: 30, guidance: 7.5, latentMultiple: 2 });
    const said = await added(model, { negative_prompt: NEGATIVE, guidance: 4 });
    const expected = guided(4, read(PROMPT), read(NEGATIVE)) + TIMESTEP / 10_000;
    expect(deviation(said, filled(4 * 8 * 16, expected))).toBeLessThan(tolerance);
  });

  test("does not start with a scheduler that is not known", async () => {
    const tiny = { ...STABLE_DIFFUSION, scheduler: { _class_name: "KarrasVeScheduler" } };
    await expect(models.open(tiny)).rejects.toThrow("the scheduler KarrasVeScheduler is not known");
  });
});

describe("a latent consistency model", () => {
  const tiny: TinyDiffusion = {
    ...STABLE_DIFFUSION,
    index: { _class_name: "LatentConsistencyModelPipeline" },
    scheduler: { ...STABLE_DIFFUSION.scheduler, _class_name: "LCMScheduler" },
    denoiser: {
      ...STABLE_DIFFUSION.denoiser,
      vectors: { timestep_cond: { features: 256, weight: 0.01 } },
    },
  };

  test("hears its guidance in sines and cosines, and is asked for the prompt alone", async () => {
    const model = await models.open(tiny);
    expect(model.traits).toMatchObject({ steps: 4, guidance: 8.5, usesNegativePrompt: false });
    const angles = Array.from({ length: 128 }, (_, at) => 3_000 / 10_000 ** (at / 127));
    const features = [...angles.map(Math.sin), ...angles.map(Math.cos)];
    const text = reading(statesOf(clipIds(PROMPT), 4, 0.2));
    const said = await added(model, { negative_prompt: NEGATIVE, guidance: 4 });
    const expected = text + 0.01 * reading([features]) + TIMESTEP / 10_000;
    expect(deviation(said, filled(4 * 8 * 16, expected))).toBeLessThan(TOLERANCE);
  });
});

const hidden = (first: number) =>
  Object.fromEntries([0, 1, 2].map((layer) => [`hidden_states.${layer}`, (first + layer) / 10]));

const XL: TinyDiffusion = {
  ...STABLE_DIFFUSION,
  index: { _class_name: "StableDiffusionXLPipeline", force_zeros_for_empty_prompt: true },
  scheduler: {
    _class_name: "EulerDiscreteScheduler",
    beta_schedule: "scaled_linear",
    timestep_spacing: "leading",
  },
  encoders: [
    {
      reads: "clip",
      features: 3,
      outputs: { last_hidden_state: 9, pooler_output: 9, ...hidden(1) },
    },
    {
      reads: "clip-padded-with-zeros",
      features: 5,
      outputs: { text_embeds: 7, last_hidden_state: 9, ...hidden(4) },
    },
  ],
  denoiser: {
    ...STABLE_DIFFUSION.denoiser,
    config: { in_channels: 4, sample_size: 16, block_out_channels: [4, 8, 16] },
    contextFeatures: 8,
    vectors: {
      text_embeds: { features: 5, weight: 1 },
      time_ids: { features: 6, weight: 1 / 1_000 },
    },
  },
};

describe("SDXL", () => {
  const size = reading([[64, 128, 0, 0, 64, 128]]) / 1_000 + TIMESTEP / 10_000;
  /** The last layer but one of both encoders, and the vector of the second. */
  const read = (prompt: string) => {
    const [first, second] = [clipIds(prompt), clipIds(prompt, 0)];
    const states = sideBySide(statesOf(first, 3, 0.2), statesOf(second, 5, 0.5));
    return reading(states) + reading([pooledOf(second, 5, 7)]);
  };

  test.each<[string, TinyDiffusion]>([
    ["in runs of two samples", XL],
    ["in runs of one sample", { ...XL, denoiser: { ...XL.denoiser, batch: 1 } }],
  ])("joins the penultimate states, and is guided away from zeros, %s", async (_, tiny) => {
    const model = await models.open(tiny);
    expect(model.traits).toMatchObject({ steps: 30, guidance: 5, latentMultiple: 4 });
    const zeros = await added(model, { guidance: 4 });
    const expected = guided(4, read(PROMPT) + size, size);
    expect(deviation(zeros, filled(4 * 8 * 16, expected))).toBeLessThan(TOLERANCE);
    const other = await added(model, { guidance: 4, negative_prompt: NEGATIVE });
    const steered = guided(4, read(PROMPT) + size, read(NEGATIVE) + size);
    expect(deviation(other, filled(4 * 8 * 16, steered))).toBeLessThan(TOLERANCE);
  });

  test("of the Turbo form takes few steps by the prompt alone", async () => {
    const scheduler = {
      _class_name: "EulerAncestralDiscreteScheduler",
      timestep_spacing: "trailing",
    };
    const model = await models.open({ ...XL, scheduler });
    expect(model.traits).toMatchObject({ steps: 4, guidance: 0 });
    const said = await added(model, {});
    expect(deviation(said, filled(4 * 8 * 16, read(PROMPT) + size))).toBeLessThan(TOLERANCE);
  });

  test("says which outputs an encoder lacks", async () => {
    const [first, second] = XL.encoders;
    const bare = first ? { ...first, outputs: { last_hidden_state: 1 } } : undefined;
    const model = await models.open({
      ...XL,
      encoders: [bare, second].filter((each) => each !== undefined),
    });
    await expect(planPicture(model, {})).rejects.toThrow(
      "the graph text-encoder has no outputs hidden_states.0",
    );
  });
});

describe("SD3", () => {
  const [first, second] = XL.encoders;
  const pooling = (encoder: typeof first, weight: number) =>
    encoder ? [{ ...encoder, outputs: { ...encoder.outputs, text_embeds: weight } }] : [];
  const two: TinyDiffusion = {
    ...XL,
    index: { _class_name: "StableDiffusion3Pipeline" },
    scheduler: { _class_name: "FlowMatchEulerDiscreteScheduler", shift: 3 },
    encoders: [...pooling(first, 6), ...pooling(second, 7)],
    denoiser: {
      folder: "transformer",
      config: { in_channels: 4, sample_size: 16, joint_attention_dim: 12 },
      sample: "hidden_states",
      output: "out_hidden_states",
      channels: 4,
      contextFeatures: 12,
      timestep: { dims: ["step"], weight: 1 / 10_000 },
      vectors: { pooled_projections: { features: 8, weight: 1 } },
    },
  };
  const t5 = { reads: "t5", features: 12, outputs: { last_hidden_state: 5 } } as const;

  const read = (prompt: string, t5Weight: number) => {
    const [ids, padded] = [clipIds(prompt), clipIds(prompt, 0)];
    const clip = sideBySide(statesOf(ids, 3, 0.2), statesOf(padded, 5, 0.5));
    const widened = sideBySide(clip, statesOf(ids, 4, 0));
    const long = statesOf(t5Ids(prompt, 256), 12, t5Weight);
    const pooled = [...pooledOf(ids, 3, 6), ...pooledOf(padded, 5, 7)];
    return reading([...widened, ...long]) + reading([pooled]) + TIMESTEP / 10_000;
  };

  test.each<[string, TinyDiffusion, number]>([
    ["T5 after both CLIP encoders", { ...two, encoders: [...two.encoders, t5] }, 5],
    ["zeros in its place where it is left out", two, 0],
  ])("reads %s, and is guided away from the empty text", async (_, tiny, weight) => {
    const model = await models.open(tiny);
    expect(model.traits).toMatchObject({ steps: 28, guidance: 7, latentMultiple: 2 });
    const said = await added(model, { guidance: 4 });
    const expected = guided(4, read(PROMPT, weight), read("", weight));
    expect(deviation(said, filled(4 * 8 * 16, expected))).toBeLessThan(TOLERANCE);
  });
});
