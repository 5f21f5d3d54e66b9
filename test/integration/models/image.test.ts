import { readFile } from "node:fs/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Chunk, PipelineEvent } from "#framemill/core/events.js";
import type { GraphRun, Pipeline } from "#framemill/core/modality.js";
import { gaussianNoise } from "#framemill/models/sampling/noise.js";
import { addModel } from "#framemill/models/add-model.js";
import { type ModelPackage, modelInfo } from "#framemill/runtime/packages/model-package.js";
import { coverRgb, mediaTypeOf } from "#framemill/media/image.js";
import { image } from "#framemill/modalities/image/index.js";
import { readPartials } from "#framemill/modalities/image/partial-chunks.js";
import type { ImageOutput, ImageRequest } from "#framemill/modalities/image/request.js";
import { createModelFolders } from "../../support/model-folders.js";
import { levelAtTimestep } from "../../support/noise-levels.js";
import { deviation } from "../../support/npy.js";
import { reading } from "../../support/graph-readings.js";
import { clipIds } from "../../support/prompt-tokenizers.js";
import {
  ID_SHARE,
  PIXEL_SHARE,
  PIXELS,
  STABLE_DIFFUSION,
  tinyDiffusion,
} from "../../support/tiny-diffusion.js";

const programs = { ffmpegPath: "ffmpeg", ffprobePath: "ffprobe", espeakPath: "espeak-ng" };
type ImageEvent = PipelineEvent<ImageOutput>;

/** Pixels and latents of a side. */
const SIDE = 128;
const LATENTS = SIDE / PIXELS;

const folders = createModelFolders();
const runs: GraphRun[] = [];
let model: ModelPackage;
let pipeline: Pipeline<ImageRequest, ImageOutput>;

beforeAll(async () => {
  const scheduler = {
    ...STABLE_DIFFUSION.scheduler,
    _class_name: "DDIMScheduler",
    clip_sample: false,
  };
  const files = tinyDiffusion({ ...STABLE_DIFFUSION, scheduler });
  const source = folders.write("stable-diffusion", files);
  model = await addModel(source, { modelsDir: folders.modelsDir });
  const create = await image.loadPipeline();
  const onRun = (made: GraphRun) => void runs.push(made);
  pipeline = await create({ modelPath: model.path, threads: 1, onRun, ...programs });
});
afterAll(async () => {
  await pipeline?.close();
  folders.remove();
});

interface Wishes {
  readonly signal?: AbortSignal;
  readonly onEvent?: (event: ImageEvent) => void;
}

async function run(body: object, { signal, onEvent }: Wishes = {}): Promise<ImageEvent[]> {
  const request = await image.admit(
    { prompt: "a boat", seed: 5, steps: 4, ...body },
    {
      model: await modelInfo(model),
      path: image.endpoint.path,
      saveInput: () => Promise.reject(new Error("nothing to save")),
      findEarlier: async () => undefined,
    },
  );
  const context = {
    signal: signal ?? new AbortController().signal,
    scratchPath: folders.root,
    readInput: () => Promise.reject(new Error("no inputs")),
  };
  const events: ImageEvent[] = [];
  for await (const event of pipeline.run(request, context)) {
    events.push(event);
    onEvent?.(event);
  }
  return events;
}

async function filesOf(events: readonly ImageEvent[]): Promise<Buffer[]> {
  const paths = events.flatMap((event) => (event.type === "file" ? [event.path] : []));
  return Promise.all(paths.map((path) => readFile(path)));
}

test("is added with all of its parts", () => {
  expect(model).toMatchObject({ modality: "image", pipeline: "diffusion-image" });
  const parts = ["text-encoder", "denoiser", "vae-decoder", "vae-encoder"];
  const settings = ["model-index", "scheduler-config", ...parts.map((part) => `${part}-config`)];
  const tokenizer = ["tokenizer-vocab", "tokenizer-merges", "tokenizer-config"];
  expect(Object.keys(model.files).toSorted()).toEqual(
    [...parts, ...settings, ...tokenizer].toSorted(),
  );
});

test("makes as many pictures as asked for, each from its own seed", async () => {
  const events = await run({ n: 2 });
  const [first, second] = await filesOf(events);
  expect(events.at(-1)).toEqual({
    type: "output",
    output: {
      images: [0, 1].map((index) => ({
        variant: `image-${index}`,
        mediaType: "image/png",
        width: SIDE,
        height: SIDE,
        seed: 5 + index,
      })),
      usage: { inputTokens: 2, outputTokens: 128 },
    },
  });
  expect(first?.equals(second ?? Buffer.alloc(0))).toBe(false);
  const [again] = await filesOf(await run({ seed: 6 }));
  expect(again?.equals(second ?? Buffer.alloc(0))).toBe(true);
});

/** What the denoiser adds to the sample for a prompt. */
function readPrompt(prompt: string): number {
  return reading(clipIds(prompt).map((id) => Array(4).fill((0.2 * id) / ID_SHARE) as number[]));
}

/** One latent from its noise, by four steps of DDIM, which a denoiser leads that adds `shift` to the sample. */
function finishedLatent(noise: number, shift: number): number {
  const timesteps = [751, 501, 251, 1, 0];
  return timesteps.slice(1).reduce((sample, goal, index) => {
    const timestep = timesteps[index] ?? 0;
    const [from, to] = [levelAtTimestep(timestep), levelAtTimestep(goal)];
    const said = sample + shift + timestep / 10_000;
    return to.signal * ((sample - from.noise * said) / from.signal) + to.noise * said;
  }, noise);
}

test.each([
  ["guided away from the empty prompt", {}, 7.5, ""],
  [
    "guided away from the negative prompt",
    { negative_prompt: "a blurry sea" },
    7.5,
    "a blurry sea",
  ],
  ["guided as strongly as it is asked for", { guidance: 2 }, 2, ""],
  ["by the prompt alone", { guidance: 1 }, 1, ""],
])(
  "makes the picture that the formulas of its graphs give, %s",
  async (_, body, guidance, free) => {
    const [file = Buffer.alloc(0)] = await filesOf(await run(body));
    const pixels = await coverRgb(file, SIDE, SIDE);
    const noise = gaussianNoise(5, 4 * LATENTS ** 2);
    const shift = readPrompt(free) + guidance * (readPrompt("a boat") - readPrompt(free));
    const expected = pixels.map((_value, at) => {
      const [colour, column, row] = [at % 3, Math.floor(at / 3) % SIDE, Math.floor(at / 3 / SIDE)];
      const square = Math.floor(row / PIXELS) * LATENTS + Math.floor(column / PIXELS);
      const latent = finishedLatent(noise[colour * LATENTS ** 2 + square] ?? Number.NaN, shift);
      const shade = ((PIXEL_SHARE * latent) / 0.18215 + 1) * 127.5;
      return Math.round(Math.min(255, Math.max(0, shade)));
    });
    expect(new Set(expected).size).toBeGreaterThan(50);
    expect(deviation(pixels, expected)).toBeLessThanOrEqual(1);
  },
);

test("tells its progress, never backwards and never all of it", async () => {
  const events = await run({ n: 2 });
  const fractions = events.flatMap((event) => (event.type === "progress" ? event.fraction : []));
  expect(fractions).toHaveLength(8);
  expect(fractions).toEqual(fractions.toSorted((a, b) => a - b));
  expect(fractions.at(-1)).toBeLessThan(1);
});

test.each([
  ["low", 18],
  ["medium", 30],
  ["high", 45],
])("takes as many steps as the quality %s is worth: %i", async (quality, steps) => {
  runs.length = 0;
  await run({ quality, steps: undefined });
  expect(runs.filter(({ role }) => role === "denoiser")).toHaveLength(steps);
});

test.each(["jpeg", "webp"])("writes %s, smaller where it is pressed harder", async (format) => {
  const [fine] = await filesOf(await run({ output_format: format }));
  const [coarse] = await filesOf(await run({ output_format: format, output_compression: 10 }));
  expect(mediaTypeOf(fine ?? Buffer.alloc(0))).toBe(`image/${format}`);
  expect(coarse?.byteLength).toBeLessThan(0.9 * (fine?.byteLength ?? 0));
});

test("sends unfinished pictures where it streams, each a whole file", async () => {
  const events = await run({ stream: true, partial_images: 2 });
  const chunks = events.flatMap((event) => (event.type === "chunk" ? [event.chunk] : []));
  const partials = [];
  for await (const partial of readPartials(chunksOf(chunks))) partials.push(partial);
  expect(partials.map(({ partial, width }) => [partial, width])).toEqual([
    [0, SIDE],
    [1, SIDE],
  ]);
  for (const { bytes } of partials)
    expect(await coverRgb(bytes, SIDE, SIDE)).toHaveLength(SIDE * SIDE * 3);
});

async function* chunksOf(chunks: readonly Chunk[]): AsyncGenerator<Chunk> {
  yield* chunks;
}

test("stops at the step at which it is cancelled", async () => {
  const abort = new AbortController();
  let steps = 0;
  runs.length = 0;
  const onEvent = ({ type }: ImageEvent) => {
    steps += Number(type === "progress");
    if (steps === 3) abort.abort();
  };
  const cancelled = run({ steps: 100 }, { signal: abort.signal, onEvent });
  await expect(cancelled).rejects.toThrow(/abort/i);
  expect(runs.filter(({ role }) => role === "denoiser")).toHaveLength(3);
});
