import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createNoiseSource } from "#framemill/models/sampling/noise.js";
import { planSchedule } from "#framemill/models/wan/denoise.js";
import { decodeWindows } from "#framemill/models/wan/decoder.js";
import type { WanModel } from "#framemill/models/wan/model.js";
import { reading } from "../../support/graph-readings.js";
import { shiftedLevel } from "../../support/noise-levels.js";
import { deviation } from "../../support/npy.js";
import { t5Ids } from "../../support/prompt-tokenizers.js";
import {
  CHANNELS,
  DEVIATION,
  MEAN,
  SAMPLE_SHARE,
  SEEN_SHARE,
  TIMESTEP_SHARE,
  type TinyTransformer,
  TOKEN_SHARE,
} from "../../support/tiny-wan.js";
import { createWanModels, PROMPT_TOKENS, walk } from "../../support/wan-models.js";

/** Channels, latent frames, rows and columns. */
const DIMS = [CHANNELS, 3, 4, 6] as const;
const LENGTH = CHANNELS * 3 * 4 * 6;
const SEED = 7;
const PROMPT = "a red boat";
const NEGATIVE = "blurry";
/** Of values up to 10 that are float32. */
const TOLERANCE = 2e-5;

const models = createWanModels();
let model: WanModel;
beforeAll(async () => {
  model = await models.open({});
});
afterAll(() => models.close());

/** States [tokens][features] of the words and the end of a prompt; what follows them is zeros. */
function statesOf(prompt: string): number[][] {
  const ids = t5Ids(prompt, PROMPT_TOKENS);
  const seen = ids.indexOf(1) + 1;
  return ids.map((id, at) => {
    const state = at < seen ? (id + 1) * TOKEN_SHARE + seen * SEEN_SHARE : 0;
    return [state, state, state, state];
  });
}

const guided = (guidance: number) => {
  const [prompt, free] = [reading(statesOf(PROMPT)), reading(statesOf(NEGATIVE))];
  return free + guidance * (prompt - free);
};

test("encodes the words of a prompt, and leaves nothing of its padding", async () => {
  for (const text of [PROMPT, " a  red\nboat "]) {
    const { values, tokens } = await model.encodePrompt(text);
    expect(tokens).toBe(PROMPT_TOKENS);
    expect(deviation(values, statesOf(PROMPT).flat())).toBeLessThan(TOLERANCE);
  }
});

describe("a transformer", () => {
  test.each<[string, TinyTransformer, number]>([
    ["of any number of samples", {}, TOLERANCE],
    ["of one sample and one timestep", { batch: 1, timestep: [] }, TOLERANCE],
    ["of any number of samples at one timestep", { timestep: [] }, TOLERANCE],
    // Sums of float16 values up to 4, with 11 bits each.
    ["of float16", { type: "float16" }, 4e-3],
  ])("%s answers for both prompts", async (_, transformer, tolerance) => {
    const { denoisers, encodePrompt } = await models.open({
      tiny: { transformers: [transformer] },
    });
    const prompts = [await encodePrompt(PROMPT), await encodePrompt(NEGATIVE)];
    const sample = createNoiseSource(SEED)(LENGTH);
    const answers = await denoisers[0]({ sample, dims: DIMS, timestep: 300, prompts });
    const expected = [PROMPT, NEGATIVE].flatMap((prompt) =>
      Array.from(sample, (value) => {
        return SAMPLE_SHARE * value + reading(statesOf(prompt)) + 300 * TIMESTEP_SHARE;
      }),
    );
    expect(deviation(answers, expected)).toBeLessThan(tolerance);
  });
});

describe("a clip's latents", () => {
  const noise = createNoiseSource(SEED)(LENGTH);
  const timesteps = [1_000, 900, 500, 250];
  const straight = { sampleShare: 0, timestepShare: 0 };
  const scheduler = { _class_name: "FlowMatchEulerDiscreteScheduler", shift: 3 };
  /** Also what a transformer adds for the timestep of each, its thousandth. */
  const levelsOf = (shift: number) =>
    [...timesteps, 0].map((timestep) => shiftedLevel(timestep / 1_000, shift));

  async function latents(asked: WanModel): Promise<Float32Array> {
    const prompts = [await asked.encodePrompt(PROMPT), await asked.encodePrompt(NEGATIVE)] as const;
    return walk({ model: asked, schedule: planSchedule(asked), dims: DIMS, prompts, seed: SEED });
  }

  test("of UniPC end where a straight way leads", async () => {
    const sampler = { steps: 4, guidance: 5 };
    const asked = await models.open({ tiny: { transformers: [straight] }, sampler });
    const expected = noise.map((value) => value - guided(5));
    expect(deviation(await latents(asked), expected)).toBeLessThan(TOLERANCE);
  });

  test("of Euler's steps go from each level of its list to the next", async () => {
    const asked = await models.open({ tiny: { scheduler }, sampler: { timesteps, guidance: 5 } });
    const levels = levelsOf(3);
    const expected = noise.map((value) =>
      levels.slice(1).reduce((sample, next, index) => {
        const level = levels[index] ?? Number.NaN;
        return sample + (next - level) * (SAMPLE_SHARE * sample + guided(5) + level);
      }, value),
    );
    expect(deviation(await latents(asked), expected)).toBeLessThan(TOLERANCE);
  });

  test("of a model taught to jump go through clean ones, with the noise that its seed goes on with", async () => {
    const jumps = { _class_name: "FlowMatchLCMScheduler", shift: 3 };
    const asked = await models.open({ tiny: { scheduler: jumps }, sampler: { timesteps } });
    const levels = levelsOf(3);
    const draw = createNoiseSource(SEED);
    let expected = draw(LENGTH);
    for (const [index, next] of levels.slice(1).entries()) {
      const level = levels[index] ?? Number.NaN;
      const drawn = draw(LENGTH);
      expected = expected.map((sample, at) => {
        const clean = sample - level * (SAMPLE_SHARE * sample + guided(1) + level);
        return (1 - next) * clean + next * (drawn[at] ?? Number.NaN);
      });
    }
    expect(deviation(await latents(asked), expected)).toBeLessThan(TOLERANCE);
  });

  test("are the second of two transformers' below the boundary, with its own guidance", async () => {
    const asked = await models.open({
      tiny: {
        transformers: [straight, { ...straight, own: 3 }],
        scheduler: { ...scheduler, shift: 1 },
      },
      sampler: { timesteps, guidance: [4, 2], guidanceBoundary: 0.875 },
    });
    models.runs.length = 0;
    const expected = noise.map((value) => value - 0.5 * guided(4) - 0.5 * (guided(2) + 3));
    expect(deviation(await latents(asked), expected)).toBeLessThan(TOLERANCE);
    const roles = models.runs.map(({ role }) => role).filter((role) => role.startsWith("denoiser"));
    expect(roles).toEqual(["denoiser", "denoiser", "denoiser-2", "denoiser-2"]);
  });

  test("are, of clips that share runs, those they have alone; without guidance a step is one row", async () => {
    const sampler = { timesteps: [1_000, 757, 522] };
    const asked = await models.open({ tiny: { scheduler }, sampler });
    const prompts = [await asked.encodePrompt(PROMPT)] as const;
    const rows: number[] = [];
    const [denoiser] = asked.denoisers;
    const denoisers: WanModel["denoisers"] = [
      (question) => {
        rows.push(question.prompts.length);
        return denoiser(question);
      },
    ];
    const make = (seed: number, onStep = () => {}) =>
      walk({
        model: { denoisers },
        schedule: planSchedule(asked),
        dims: DIMS,
        prompts,
        seed,
        onStep,
      });
    const alone = [await make(1), await make(2)];
    expect(rows).toEqual([1, 1, 1, 1, 1, 1]);
    models.runs.length = 0;
    let joins: Promise<Float32Array> | undefined;
    const first = await make(1, () => {
      joins ??= make(2);
    });
    expect([first, await joins]).toEqual(alone);
    expect(models.runs.filter(({ role }) => role === "denoiser").length).toBeLessThan(6);
  });
});

test.each([
  [{ shapes: { native: [480, 840] } }, "native must be multiples of 16, got 480 × 840"],
  [{ sampler: { timesteps: [1000, 500] } }, "sampler.timesteps is for FlowMatch"],
  [{ sampler: { steps: 2, timesteps: [1000, 500] } }, "steps or timesteps, got both"],
  [{ sampler: { cacheThreshold: 0.1 } }, "must be 0 for a transformer in one graph, got 0.1"],
  [{ sampler: { cacheThreshold: -0.1 } }, "sampler.cacheThreshold"],
])("does not start with settings that it cannot follow: %j", async (wishes, reason) => {
  await expect(models.open(wishes)).rejects.toThrow(reason);
});

describe("a decoder", () => {
  const dims = [CHANNELS, 7, 4, 6] as const;
  const latents = createNoiseSource(SEED)(CHANNELS * 7 * 24).map((value) => value / 5);

  test("makes a frame of the first latent frame and four of each other, of latents as it was trained", async () => {
    expect(model.decoder.windowLatents).toBeUndefined();
    const { values, frameCount, height, width } = await model.decoder.decode(latents, dims);
    expect([frameCount, height, width]).toEqual([25, 32, 48]);
    const latentAt = (channel: number, frame: number, square: number) =>
      (latents[(channel * 7 + frame) * 24 + square] ?? 0) * (DEVIATION[channel] ?? 0) +
      (MEAN[channel] ?? 0);
    const expected = values.map((_, at) => {
      const [row, column] = [Math.floor(at / 48) % 32, at % 48];
      const square = Math.floor(row / 8) * 6 + Math.floor(column / 8);
      const [frame, channel] = [Math.floor(at / 1_536) % 25, Math.floor(at / 1_536 / 25)];
      const later = Math.ceil(frame / 4);
      const earlier = Math.max(0, later - 1);
      return (latentAt(channel, later, square) + latentAt(channel, earlier, square)) / 2;
    });
    expect(deviation(values, expected)).toBeLessThan(TOLERANCE);
  });

  test("that was unrolled makes the same frames window by window, and is asked for no more at once", async () => {
    const unrolled = await models.open({
      tiny: { latentFrames: 3 },
      shapes: { overlapLatents: 1 },
    });
    expect(unrolled.decoder.windowLatents).toBe(3);
    expect(await framesOf(unrolled)).toEqual(await framesOf(model));
    await expect(unrolled.decoder.decode(latents, dims)).rejects.toThrow(
      "the decoder made 9 frames of 7 latent frames, 25 are expected",
    );
  });

  async function framesOf(asked: WanModel): Promise<Buffer> {
    const format = { width: 48, height: 32, frameRate: 16, frameCount: 25 };
    const { signal } = new AbortController();
    const given = { sample: latents, dims, format, signal, onLaunched: () => {} };
    const frames: Uint8Array[] = [];
    for await (const window of decodeWindows(asked, given)) frames.push(window.frames);
    return Buffer.concat(frames);
  }
});
