import { afterAll, describe, expect, test } from "vitest";
import { gaussianNoise } from "#framemill/models/sampling/noise.js";
import { diffuse } from "#framemill/modalities/image/diffuse.js";
import {
  createImageModels,
  planPicture,
  pooledOf,
  PROMPT,
  statesOf,
} from "../../support/image-models.js";
import { shiftedLevel } from "../../support/noise-levels.js";
import { deviation } from "../../support/npy.js";
import { reading } from "../../support/graph-readings.js";
import { clipIds, t5Ids } from "../../support/prompt-tokenizers.js";
import {
  COLUMN_SHARE,
  PIXEL_SHARE,
  PIXELS,
  ROW_SHARE,
  type TinyDiffusion,
} from "../../support/tiny-diffusion.js";

/** Of values up to 10 that are float32. */
const TOLERANCE = 1e-5;

const models = createImageModels();
afterAll(() => models.close());

describe("Flux", () => {
  const schnell: TinyDiffusion = {
    index: { _class_name: "FluxPipeline" },
    scheduler: { _class_name: "FlowMatchEulerDiscreteScheduler", shift: 1 },
    encoders: [
      { reads: "clip", features: 6, outputs: { last_hidden_state: 9, pooler_output: 7 } },
      { reads: "t5", features: 8, outputs: { last_hidden_state: 5 } },
    ],
    denoiser: {
      folder: "transformer",
      config: { in_channels: 16, guidance_embeds: false },
      sample: "hidden_states",
      output: "out_hidden_states",
      channels: 16,
      contextFeatures: 8,
      timestep: { dims: ["step"], weight: 1 / 10 },
      vectors: { pooled_projections: { features: 6, weight: 1 } },
      places: { type: "int64" },
    },
    autoencoder: {
      scaling_factor: 0.3611,
      shift_factor: 0.1159,
      block_out_channels: [8, 8, 8, 16],
    },
    latentChannels: 4,
  };
  const moving = {
    _class_name: "FlowMatchEulerDiscreteScheduler",
    use_dynamic_shifting: true,
    base_image_seq_len: 16,
    max_image_seq_len: 48,
  };
  const dev: TinyDiffusion = {
    ...schnell,
    scheduler: moving,
    denoiser: {
      ...schnell.denoiser,
      config: { in_channels: 16, guidance_embeds: true },
      vectors: { ...schnell.denoiser.vectors, guidance: { weight: 1 / 100 } },
      places: { type: "float32", isBatched: true },
    },
  };
  const even = [1, 0.75, 0.5, 0.25];
  // 32 tokens lie half way between 16 and 48, as does the shift between 0.5 and 1.15.
  const moved = even.map((level) => shiftedLevel(level, Math.exp(0.825)));

  test.each([
    {
      name: "schnell",
      tiny: schnell,
      tokens: 256,
      levels: even,
      steps: 4,
      guidance: 0,
      guidanceReading: 0,
    },
    {
      name: "dev",
      tiny: dev,
      tokens: 512,
      levels: moved,
      steps: 28,
      guidance: 3.5,
      guidanceReading: 0.035,
    },
  ])("$name goes straight to its latents, four of them a token with its place", async (given) => {
    const { tiny, tokens, levels, steps, guidance, guidanceReading } = given;
    const model = await models.open(tiny);
    expect(model.traits).toMatchObject({ steps, guidance, promptTokens: tokens });
    const text = reading(statesOf(t5Ids(PROMPT, tokens), 8, 5));
    const shift = text + reading([pooledOf(clipIds(PROMPT), 6, 7)]) + guidanceReading;
    const plan = await planPicture(model, { steps: 4 });
    const { channels, height, width } = plan.grid;
    const noise = gaussianNoise(3, channels * height * width);
    const latents = await finish(diffuse({ ...plan, noise: () => noise }));
    const expected = noise.map((value, at) => {
      const [row, column] = [Math.floor(at / width) % height, at % width];
      const place = (row >> 1) * ROW_SHARE + (column >> 1) * COLUMN_SHARE;
      return levels.reduce((sample, level, index) => {
        const said = sample + shift + place + level / 10;
        return sample + ((levels[index + 1] ?? 0) - level) * said;
      }, value);
    });
    expect(deviation(latents.values, expected)).toBeLessThan(TOLERANCE);
    const picture = await model.autoencoder.decode(latents);
    const [first = Number.NaN] = expected;
    expect(picture.values).toHaveLength(3 * height * width * PIXELS ** 2);
    expect(picture.values[0]).toBeCloseTo(PIXEL_SHARE * (first / 0.3611 + 0.1159), 4);
  });
});

async function finish<T>(steps: AsyncGenerator<unknown, T>): Promise<T> {
  let next = await steps.next();
  while (next.done !== true) next = await steps.next();
  return next.value;
}
