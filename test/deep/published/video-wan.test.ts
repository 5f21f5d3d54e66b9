import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { GraphRun } from "#framemill/core/modality.js";
import { coverRgb } from "#framemill/media/image.js";
import { addModel } from "#framemill/models/add-model.js";
import { parseSchedulerConfig } from "#framemill/models/diffusion/schedulers/config.js";
import { denoise, planSchedule } from "#framemill/models/wan/denoise.js";
import type { LatentDims, PictureCondition } from "#framemill/models/wan/denoiser.js";
import { openWanModel, type WanModel } from "#framemill/models/wan/model.js";
import {
  decodeCheckpoint,
  type DenoiseState,
  encodeCheckpoint,
} from "#framemill/models/video/checkpoint.js";
import { openValues } from "#framemill/runtime/ort/value.js";
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
    /** Of the latents with a first-block cache; which runs of a transformer went through all blocks (1). */
    readonly cache?: { readonly threshold: number; readonly computed: string };
  };
}

/** Of the frames, those on a grid. */
const GRID = 8;
const FRAMES = 9;
const SIDE = 64;

const CACHED = "first-block-cache";

const rows = readdirSync(FOLDER).flatMap((name) => {
  if (!name.startsWith("video-wan")) return [];
  const golden = JSON.parse(readFileSync(join(FOLDER, name, "golden.json"), "utf8")) as Golden;
  const ways = Object.keys(golden.clip.schedulers).map((it) => [it, it] as const);
  // What a model that reads both makes of the words alone.
  const words = existsSync(join(FOLDER, name, "words.f32")) ? [["words", "unipc"] as const] : [];
  const cached = golden.clip.cache ? [[CACHED, "unipc"] as const] : [];
  return [{ name, golden, ways: [...ways, ...words, ...cached] }];
});

interface OpenRow {
  readonly model: WanModel;
  readonly dims: LatentDims;
  /** Roles of the runs of its graphs so far. */
  readonly runs: string[];
  close(): Promise<void>;
}

async function openRow(name: string, golden: Golden): Promise<OpenRow> {
  const modelsDir = mkdtempSync(join(tmpdir(), "framemill-wan-"));
  const shapes = JSON.parse(golden.add.shapes) as Record<string, unknown>;
  const { path } = await addModel(join(FOLDER, name, "model"), { modelsDir, id: name, shapes });
  const runs: string[] = [];
  const onRun = ({ role }: GraphRun) => void runs.push(role);
  const programs = { ffmpegPath: "ffmpeg", ffprobePath: "ffprobe", espeakPath: "" };
  const setup = { modelPath: path, threads: 1, onRun, ...programs };
  const model = await openWanModel(await loadModelPackage(path), setup);
  const side = SIDE / model.settings.shapes.spatialStride;
  return {
    model,
    dims: [model.settings.channels, 1 + (FRAMES - 1) / 4, side, side],
    runs,
    async close() {
      await model.close();
      rmSync(modelsDir, { recursive: true, force: true });
    },
  };
}

function expected(name: string, what: string): Float32Array {
  const bytes = Uint8Array.from(readFileSync(join(FOLDER, name, `${what}.f32`)));
  return new Float32Array(bytes.buffer);
}

interface Way {
  readonly scheduler?: string;
  /** Of a first-block cache. */
  readonly threshold?: number;
  readonly start?: DenoiseState;
  readonly picture?: PictureCondition | undefined;
}

/** The clip of the golden, step by step. */
async function steps({ model, dims }: OpenRow, { clip }: Golden, way: Way) {
  const { num_inference_steps, guidance_scale: guidance } = clip;
  const { scheduler = "unipc", threshold = 0, start, picture } = way;
  const sampler = {
    ...model.settings.sampler,
    steps: num_inference_steps,
    guidance: [guidance, guidance] as const,
    cacheThreshold: threshold,
  };
  return denoise({
    model,
    schedule: planSchedule({
      settings: { ...model.settings, sampler },
      scheduler: parseSchedulerConfig(clip.schedulers[scheduler]),
    }),
    dims,
    prompts: [
      await model.encodePrompt(clip.prompt),
      await model.encodePrompt(clip.negative_prompt),
    ],
    picture,
    seed: 0,
    signal: new AbortController().signal,
    start: start ?? { step: 0, sample: expected(model.id, "noise") },
  });
}

async function latents(row: OpenRow, golden: Golden, way: Way): Promise<Float32Array> {
  const states = await steps(row, golden, way);
  let next = await states.next();
  while (next.done !== true) next = await states.next();
  return next.value;
}

describe.each(rows)("$golden.model as diffusers runs it", ({ name, golden, ways }) => {
  const { clip, tolerance } = golden;
  let row: OpenRow;
  beforeAll(async () => {
    row = await openRow(name, golden);
  });
  afterAll(() => row?.close());

  async function readPicture(): Promise<PictureCondition | undefined> {
    const path = join(FOLDER, name, "picture.png");
    if (!existsSync(path)) return undefined;
    const rgb = await coverRgb(readFileSync(path), SIDE, SIDE);
    return row.model.encodePicture?.({ rgb, height: SIDE, width: SIDE }, row.dims);
  }

  test.each(ways)("reaches the latents of %s", async (what, scheduler) => {
    const picture = what === "words" ? undefined : await readPicture();
    const threshold = what === CACHED ? (clip.cache?.threshold ?? 0) : 0;
    const made = await latents(row, golden, { scheduler, threshold, picture });
    const off = deviation(made, expected(name, what));
    reportDeviation(`${name} ${what}`, off);
    expect(off).toBeLessThan(tolerance);
  });

  test("decodes the frames, by a graph that was unrolled for them", async () => {
    const { decoder } = row.model;
    const { values } = await decoder.decode(expected(name, "unipc"), row.dims);
    const seen = values.filter((_, at) => {
      const [line, column] = [Math.floor(at / SIDE) % SIDE, at % SIDE];
      return line % GRID === 0 && column % GRID === 0;
    });
    const off = deviation(seen, expected(name, "frames"));
    reportDeviation(`${name} frames`, off);
    expect(off).toBeLessThan(tolerance);
    expect(decoder.windowLatents).toBe(row.dims[1]);
  });
});

describe.each(rows.filter(({ golden }) => golden.clip.cache))(
  "a first-block cache of $golden.model",
  ({ name, golden }) => {
    const { threshold } = golden.clip.cache ?? { threshold: 0 };
    let row: OpenRow;
    beforeAll(async () => {
      row = await openRow(name, golden);
    });
    afterAll(() => row?.close());

    test("leaves out the blocks that diffusers leaves out, of each prompt and transformer by itself", async () => {
      row.runs.length = 0;
      await latents(row, golden, { threshold });
      const behind = row.runs.filter((role) => /^(remaining-blocks|head)/.test(role));
      const computed = behind.map((role) => (role.startsWith("head") ? "0" : "1")).join("");
      expect(computed).toBe(golden.clip.cache?.computed);
    });

    test("is gone on with from any step by whoever takes the clip over, to the same latents", async () => {
      const states: DenoiseState[] = [];
      const walk = await steps(row, golden, { threshold });
      let next = await walk.next();
      for (; next.done !== true; next = await walk.next()) states.push(next.value);
      const kind = {
        modelId: name,
        steps: golden.clip.num_inference_steps,
        length: next.value.length,
      };
      for (const state of states) {
        const start = decodeCheckpoint(encodeCheckpoint(kind, state), kind);
        if (start === undefined) throw new Error(`the checkpoint of step ${state.step} is lost`);
        expect(await latents(row, golden, { threshold, start })).toEqual(next.value);
      }
    });

    test("holds nothing once a clip has ended, or was left amid its steps", async () => {
      const before = openValues();
      await latents(row, golden, { threshold });
      expect(openValues()).toBe(before);
      const left = await steps(row, golden, { threshold });
      await left.next();
      expect(openValues()).toBeGreaterThan(before);
      await left.return(new Float32Array());
      expect(openValues()).toBe(before);
    });
  },
);

test("a transformer in parts says to the bit what its one graph says", async () => {
  const made: Float32Array[] = [];
  for (const { name, golden } of rows) {
    if (!/^video-wan-2.1-t2v(-parts)?$/.test(name)) continue;
    const row = await openRow(name, golden);
    made.push(await latents(row, golden, {}));
    await row.close();
  }
  expect(made).toHaveLength(2);
  expect(made[1]).toEqual(made[0]);
});
