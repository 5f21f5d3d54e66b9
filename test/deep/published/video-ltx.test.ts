import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import { coverRgb } from "#framemill/media/image.js";
import { addModel } from "#framemill/models/add-model.js";
import { parseSchedulerConfig } from "#framemill/models/diffusion/schedulers/config.js";
import { decodeFrames, decodeSound, encodePicture } from "#framemill/models/ltx/decoders.js";
import { denoise, latentLengths, planSchedule } from "#framemill/models/ltx/denoise.js";
import { createDenoiser } from "#framemill/models/ltx/denoiser.js";
import { type LtxModel, openLtxModel } from "#framemill/models/ltx/open.js";
import type { LtxSettings } from "#framemill/models/ltx/settings.js";
import { loadModelPackage } from "#framemill/runtime/packages/model-package.js";
import { deviation, reportDeviation } from "../../support/npy.js";

/** A tiny export of LTX-2 with what diffusers makes of it (scripts/export/ltx.py). */
const FOLDER = fileURLToPath(new URL("../../fixtures/published/video-ltx-2", import.meta.url));

interface Golden {
  readonly tolerance: number;
  readonly add: { readonly shapes: string };
  readonly clip: {
    readonly prompt: string;
    readonly negative_prompt: string;
    readonly num_inference_steps: number;
    readonly guidance_scale: number;
    readonly audio_guidance_scale: number;
    readonly schedulers: Readonly<Record<string, object>>;
  };
}

const { clip, tolerance, add } = JSON.parse(
  readFileSync(join(FOLDER, "golden.json"), "utf8"),
) as Golden;
/** Of 17 frames of 64 × 96 pixels, and 0.7 s of sound. */
const DIMS = { frames: 3, rows: 2, columns: 3, times: 18 };
const [HEIGHT, WIDTH] = [64, 96];
/** Of the frames, those on a grid; of the sound, one in so many. */
const GRID = 8;
const EACH = 16;

const modelsDir = mkdtempSync(join(tmpdir(), "framemill-ltx-"));
let model: LtxModel;
let settings: LtxSettings;

beforeAll(async () => {
  const shapes = JSON.parse(add.shapes) as Record<string, unknown>;
  const options = { modelsDir, id: "ltx", shapes };
  const { path: modelPath } = await addModel(join(FOLDER, "model"), options);
  const programs = { ffmpegPath: "ffmpeg", ffprobePath: "ffprobe", espeakPath: "" };
  const setup = { modelPath, threads: 1, ...programs };
  model = await openLtxModel(await loadModelPackage(modelPath), setup);
  const sampler = {
    steps: clip.num_inference_steps,
    guidance: clip.guidance_scale,
    audioGuidance: clip.audio_guidance_scale,
  };
  settings = { ...model.settings, sampler };
});
afterAll(async () => {
  await model?.close();
  rmSync(modelsDir, { recursive: true, force: true });
});

function expected(what: string): Float32Array {
  const bytes = Uint8Array.from(readFileSync(join(FOLDER, `${what}.f32`)));
  return new Float32Array(bytes.buffer);
}

function differenceOf(what: string, found: Float32Array): number {
  const off = deviation(found, expected(what));
  reportDeviation(`ltx ${what}`, off);
  return off;
}

/** Tokens of the picture and of the sound. */
function parts(tokens: Float32Array) {
  const { picture } = latentLengths(settings, DIMS);
  return { picture: tokens.subarray(0, picture), sound: tokens.subarray(picture) };
}

test.each([
  ["flow-euler", "flow-euler"],
  ["flow-euler-shift-3", "flow-euler-shift-3"],
  ["picture", "flow-euler"],
])("reaches diffusers' latents of picture and sound: %s", async (what, scheduler) => {
  const rgb = await coverRgb(readFileSync(join(FOLDER, "picture.png")), WIDTH, HEIGHT);
  const noise = expected("noise");
  const states = denoise({
    denoiser: createDenoiser(model.clip, settings, DIMS),
    scheduler: planSchedule(parseSchedulerConfig(clip.schedulers[scheduler]), settings),
    length: noise.length,
    prompts: [
      await model.encodePrompt(clip.prompt),
      await model.encodePrompt(clip.negative_prompt),
    ],
    picture: what === "picture" ? await encodePicture(model.clip, settings, rgb) : undefined,
    seed: 0,
    signal: new AbortController().signal,
    start: { step: 0, sample: noise },
  });
  let next = await states.next();
  while (next.done !== true) next = await states.next();
  expect(differenceOf(what, next.value)).toBeLessThan(tolerance);
});

test("decodes diffusers' frames", async () => {
  const tokens = parts(expected("flow-euler")).picture;
  const { values, frameCount } = await decodeFrames(model.decoders, settings, tokens, DIMS);
  const seen = values.filter((_, at) => {
    const [row, column] = [Math.floor(at / WIDTH) % HEIGHT, at % WIDTH];
    return row % GRID === 0 && column % GRID === 0;
  });
  expect(frameCount).toBe(17);
  expect(differenceOf("frames", seen)).toBeLessThan(tolerance);
});

test("decodes diffusers' sound", async () => {
  const tokens = parts(expected("flow-euler")).sound;
  const { samples, channels } = await decodeSound(model.decoders, settings, tokens);
  const length = samples.length / channels;
  expect([channels, length]).toEqual([2, 240 * (4 * DIMS.times - 3)]);
  const every = samples.filter((_, at) => (at % length) % EACH === 0);
  expect(differenceOf("waveform", every)).toBeLessThan(tolerance);
});
