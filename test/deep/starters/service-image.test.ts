import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { PipelineEvent } from "#framemill/core/events.js";
import type { Pipeline } from "#framemill/core/modality.js";
import {
  loadModelPackage,
  type ModelPackage,
  modelInfo,
} from "#framemill/runtime/packages/model-package.js";
import { fitPicture, mediaTypeOf } from "#framemill/media/image.js";
import { image } from "#framemill/modalities/image/index.js";
import { readPartials } from "#framemill/modalities/image/partial-chunks.js";
import type { ImageOutput, ImageRequest } from "#framemill/modalities/image/request.js";

const modelPath = fileURLToPath(new URL("../../../models/service-image-1", import.meta.url));
const programs = { ffmpegPath: "ffmpeg", ffprobePath: "ffprobe", espeakPath: "espeak-ng" };
type ImageEvent = PipelineEvent<ImageOutput>;

describe("service-image-1", () => {
  let model: ModelPackage;
  let pipeline: Pipeline<ImageRequest, ImageOutput>;
  let scratchPath: string;

  beforeAll(async () => {
    model = await loadModelPackage(modelPath);
    scratchPath = await mkdtemp(join(tmpdir(), "framemill-scene-"));
    const create = await image.loadPipeline();
    pipeline = await create({ modelPath, threads: 1, ...programs });
  });
  afterAll(async () => {
    await pipeline?.close();
    await rm(scratchPath, { recursive: true, force: true });
  });

  async function run(body: object): Promise<ImageEvent[]> {
    const admitted = await image.admit(
      { prompt: "a red boat on the ocean at noon", seed: 5, steps: 6, ...body },
      {
        model: await modelInfo(model),
        path: image.endpoint.path,
        saveInput: () => Promise.reject(new Error("nothing to save")),
        findEarlier: async () => undefined,
      },
    );
    const { signal } = new AbortController();
    const readInput = () => Promise.reject(new Error("no inputs"));
    const events: ImageEvent[] = [];
    const own = await mkdtemp(join(scratchPath, "run-"));
    for await (const event of pipeline.run(admitted, { signal, scratchPath: own, readInput }))
      events.push(event);
    return events;
  }

  async function picturesOf(events: readonly ImageEvent[]): Promise<Buffer[]> {
    const paths = events.flatMap((event) => (event.type === "file" ? [event.path] : []));
    return Promise.all(paths.map((path) => readFile(path)));
  }

  test("paints every size that it lists, the same picture for the same seed", async () => {
    const sizes = ["1024x1024", "1536x1024", "1024x1536"];
    expect((await modelInfo(model)).sizes).toEqual(sizes);
    for (const size of sizes) {
      const events = await run({ size });
      const [width, height] = size.split("x").map(Number);
      expect(events.at(-1)).toMatchObject({ output: { images: [{ width, height, seed: 5 }] } });
    }
    const [once, again, other] = await Promise.all(
      [5, 5, 6].map(async (seed) => (await picturesOf(await run({ seed })))[0]),
    );
    expect(again?.equals(once ?? Buffer.alloc(0))).toBe(true);
    expect(other?.equals(once ?? Buffer.alloc(0))).toBe(false);
  });

  test("refuses sizes that it does not list", async () => {
    await expect(run({ size: "512x512" })).rejects.toMatchObject({ code: "invalid_value" });
  });

  test("shows the picture as it comes, at its full size", async () => {
    const events = await run({ stream: true, partial_images: 2, output_format: "webp" });
    const chunks = events.flatMap((event) => (event.type === "chunk" ? [event.chunk] : []));
    const partials = [];
    for await (const partial of readPartials(toAsync(chunks))) partials.push(partial);
    expect(partials.map(({ width, height }) => [width, height])).toEqual([
      [1024, 1024],
      [1024, 1024],
    ]);
    expect(partials.map(({ bytes }) => mediaTypeOf(bytes))).toEqual(["image/webp", "image/webp"]);
  });

  test("night is darker than noon, and counts the words that it read", async () => {
    const brightness = async (time: string) => {
      const events = await run({ prompt: `a red boat on the ocean ${time}`, steps: 12, n: 2 });
      const files = await picturesOf(events);
      const small = await Promise.all(
        files.map((bytes) =>
          fitPicture(bytes, { resize: { width: 8, height: 8 }, size: [8, 8], filter: "bilinear" }),
        ),
      );
      const output = events.at(-1);
      expect(output).toMatchObject({ output: { usage: { inputTokens: 8, outputTokens: 8192 } } });
      return Math.max(...small.map((rgb) => rgb.reduce((sum, value) => sum + value, 0) / 192));
    };
    expect(await brightness("at night")).toBeLessThan((await brightness("at noon")) * 0.7);
  });
});

async function* toAsync<Item>(items: readonly Item[]): AsyncGenerator<Item> {
  yield* items;
}
