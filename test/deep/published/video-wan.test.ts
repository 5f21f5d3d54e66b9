import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { coverRgb } from "#framemill/media/image.js";
import { addModel } from "#framemill/models/add-model.js";
import { parseSchedulerConfig } from "#framemill/models/diffusion/schedulers/config.js";
import { denoise, planSchedule } from "#framemill/models/wan/denoise.js";
import type { LatentDims, PictureCondition } from "#framemill/models/wan/denoiser.js";
import { openWanModel, type WanModel } from "#framemill/models/wan/model.js";
import { loadModelPackage } from "#framemill/runtime/packages/model-package.js";
import { deviation, reportDeviation } from "../../support/npy.js";

/** Tiny exports of Wan's pipelines with what diffusers makes of them (scripts/export/wan.py). */
const FOLDER = fileURLToPath(new URL("../../fixtures/published", import.meta.url));

interface Golden {
  readonly model: string;
  readonly tolerance: number;
  readonly add: { readonly shapes: string };
  readonly clip: {
    readonly prompt: string;
    readonly negative_prompt: string;
    readonly num_inference_steps: number;
    readonly guidance_scale: number;
    readonly schedulers: Readonly<Record<string, object>>;
  };
}

/** Of the frames, those on a grid. */
const GRID = 8;
const FRAMES = 9;
const SIDE = 64;

const rows = readdirSync(FOLDER).flatMap((name) => {
  if (!name.startsWith("video-wan")) return [];
  const golden = JSON.parse(readFileSync(join(FOLDER, name, "golden.json"), "utf8")) as Golden;
  const ways = Object.keys(golden.clip.schedulers).map((it) => [it, it] as const);
  // What a model that reads both makes of the words alone.
  const words = existsSync(join(FOLDER, name, "words.f32")) ? [["words", "unipc"] as const] : [];
  return [{ name, golden, ways: [...ways, ...words] }];
});

describe.each(rows)("$golden.model as diffusers runs it", ({ name, golden, ways }) => {
  const { clip, tolerance } = golden;
  const modelsDir = mkdtempSync(join(tmpdir(), "framemill-wan-"));
  let model: WanModel;
  let dims: LatentDims;

  beforeAll(async () => {
    const shapes = JSON.parse(golden.add.shapes) as Record<string, unknown>;
    const options = { modelsDir, id: name, shapes };
    const { path: modelPath } = await addModel(join(FOLDER, name, "model"), options);
    const programs = { ffmpegPath: "ffmpeg", ffprobePath: "ffprobe", espeakPath: "" };
    const setup = { modelPath, threads: 1, ...programs };
    model = await openWanModel(await loadModelPackage(modelPath), setup);
    const side = SIDE / model.settings.shapes.spatialStride;
    dims = [model.settings.channels, 1 + (FRAMES - 1) / 4, side, side];
  });
  afterAll(async () => {
    await model?.close();
    rmSync(modelsDir, { recursive: true, force: true });
  });

  function expected(what: string): Float32Array {
    const bytes = Uint8Array.from(readFileSync(join(FOLDER, name, `${what}.f32`)));
    return new Float32Array(bytes.buffer);
  }

  async function readPicture(): Promise<PictureCondition | undefined> {
    const path = join(FOLDER, name, "picture.png");
    if (!existsSync(path)) return undefined;
    const rgb = await coverRgb(readFileSync(path), SIDE, SIDE);
    return model.encodePicture?.({ rgb, height: SIDE, width: SIDE }, dims);
  }

  test.each(ways)("reaches the latents of %s", async (what, scheduler) => {
    const { num_inference_steps: steps, guidance_scale: guidance } = clip;
    const sampler = { ...model.settings.sampler, steps, guidance: [guidance, guidance] as const };
    const asked = {
      settings: { ...model.settings, sampler },
      scheduler: parseSchedulerConfig(clip.schedulers[scheduler]),
    };
    const states = denoise({
      model,
      schedule: planSchedule(asked),
      dims,
      prompts: [
        await model.encodePrompt(clip.prompt),
        await model.encodePrompt(clip.negative_prompt),
      ],
      picture: what === "words" ? undefined : await readPicture(),
      seed: 0,
      signal: new AbortController().signal,
      start: { step: 0, sample: expected("noise") },
    });
    let next = await states.next();
    while (next.done !== true) next = await states.next();
    const off = deviation(next.value, expected(what));
    reportDeviation(`${name} ${what}`, off);
    expect(off).toBeLessThan(tolerance);
  });

  test("decodes the frames, by a graph that was unrolled for them", async () => {
    const { values } = await model.decoder.decode(expected("unipc"), dims);
    const seen = values.filter((_, at) => {
      const [row, column] = [Math.floor(at / SIDE) % SIDE, at % SIDE];
      return row % GRID === 0 && column % GRID === 0;
    });
    const off = deviation(seen, expected("frames"));
    reportDeviation(`${name} frames`, off);
    expect(off).toBeLessThan(tolerance);
    expect(model.decoder.windowLatents).toBe(dims[1]);
  });
});
