import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { PipelineEvent } from "#framemill/core/events.js";
import type { Pipeline } from "#framemill/core/modality.js";
import { type ModelPackage, modelInfo } from "#framemill/inference/model-package.js";
import { coverRgb, mediaTypeOf } from "#framemill/media/image.js";
import { image } from "#framemill/modalities/image/index.js";
import { readPartials } from "#framemill/modalities/image/partial-chunks.js";
import type { ImageOutput, ImageRequest } from "#framemill/modalities/image/request.js";
import { addedModel } from "../../support/added-model.js";
import { describeWithModels } from "../../support/published-models.js";

const programs = { ffmpegPath: "ffmpeg", ffprobePath: "ffprobe", espeakPath: "espeak-ng" };
type ImageEvent = PipelineEvent<ImageOutput>;

describeWithModels("the image pipeline", () => {
  let model: ModelPackage;
  let pipeline: Pipeline<ImageRequest, ImageOutput>;
  let scratchPath: string;

  beforeAll(async () => {
    model = await addedModel("tiny-official/image-sd15");
    scratchPath = await mkdtemp(join(tmpdir(), "framemill-image-"));
    const create = await image.loadPipeline();
    pipeline = await create({ modelPath: model.path, threads: 1, ...programs });
  });
  afterAll(async () => {
    await pipeline?.close();
    await rm(scratchPath, { recursive: true, force: true });
  });

  async function run(body: object, signal = new AbortController().signal): Promise<ImageEvent[]> {
    const admitted = await image.admit(
      { prompt: "a boat", seed: 5, steps: 4, ...body },
      {
        model: await modelInfo(model),
        path: image.endpoint.path,
        saveInput: () => Promise.reject(new Error("nothing to save")),
        findEarlier: async () => undefined,
      },
    );
    const context = {
      signal,
      scratchPath,
      readInput: () => Promise.reject(new Error("no inputs")),
    };
    const events: ImageEvent[] = [];
    for await (const event of pipeline.run(admitted, context)) events.push(event);
    return events;
  }

  async function filesOf(events: readonly ImageEvent[]): Promise<Buffer[]> {
    const paths = events.flatMap((event) => (event.type === "file" ? [event.path] : []));
    return Promise.all(paths.map((path) => readFile(path)));
  }

  test("makes as many pictures as asked for, each from its own seed", async () => {
    const events = await run({ n: 2 });
    const [first, second] = await filesOf(events);
    const output = events.at(-1);
    expect(output).toEqual({
      type: "output",
      output: {
        images: [0, 1].map((index) => ({
          variant: `image-${index}`,
          mediaType: "image/png",
          width: 128,
          height: 128,
          seed: 5 + index,
        })),
        usage: { inputTokens: 2, outputTokens: 128 },
      },
    });
    expect(first?.equals(second ?? Buffer.alloc(0))).toBe(false);
    const [again] = await filesOf(await run({ seed: 6 }));
    expect(again?.equals(second ?? Buffer.alloc(0))).toBe(true);
  });

  test("tells its progress, never backwards and never all of it", async () => {
    const events = await run({ n: 2 });
    const fractions = events.flatMap((event) => (event.type === "progress" ? event.fraction : []));
    expect(fractions.length).toBeGreaterThan(7);
    expect(fractions).toEqual(fractions.toSorted((a, b) => a - b));
    expect(fractions.at(-1)).toBeLessThan(1);
  });

  test.each(["jpeg", "webp"])("writes %s, smaller where it is pressed harder", async (format) => {
    const [fine] = await filesOf(await run({ output_format: format }));
    const [coarse] = await filesOf(await run({ output_format: format, output_compression: 10 }));
    expect(mediaTypeOf(fine ?? Buffer.alloc(0))).toBe(`image/${format}`);
    expect(coarse?.byteLength).toBeLessThan((fine?.byteLength ?? 0) / 2);
  });

  test("sends unfinished pictures where it streams, each a whole file", async () => {
    const events = await run({ stream: true, partial_images: 2 });
    const chunks = events.flatMap((event) => (event.type === "chunk" ? [event.chunk] : []));
    const partials = [];
    for await (const partial of readPartials(chunksOf(chunks))) partials.push(partial);
    expect(partials.map(({ partial, width }) => [partial, width])).toEqual([
      [0, 128],
      [1, 128],
    ]);
    for (const { bytes } of partials)
      expect(await coverRgb(bytes, 128, 128)).toHaveLength(128 * 128 * 3);
  });

  test("stops at the step at which it is cancelled", async () => {
    const abort = new AbortController();
    const running = run({ steps: 100 }, abort.signal);
    setTimeout(() => abort.abort(), 50);
    await expect(running).rejects.toThrow(/abort/i);
  });

  test("steers by the negative prompt and by guidance", async () => {
    const [plain] = await filesOf(await run({}));
    const [steered] = await filesOf(await run({ negative_prompt: "blurry" }));
    const [free] = await filesOf(await run({ guidance: 1 }));
    expect(steered?.equals(plain ?? Buffer.alloc(0))).toBe(false);
    expect(free?.equals(plain ?? Buffer.alloc(0))).toBe(false);
  });
});

async function* chunksOf<T>(chunks: readonly T[]): AsyncGenerator<T> {
  yield* chunks;
}
