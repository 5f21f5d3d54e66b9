import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { GraphRun } from "#framemill/core/modality.js";
import { decodeCanvas } from "#framemill/models/motion/canvas.js";
import { decodeScene } from "#framemill/models/motion/decode-frames.js";
import { denoise, encodePrompts } from "#framemill/models/motion/denoise.js";
import { type MotionModel, openMotionModel } from "#framemill/models/motion/model.js";
import type { VideoRequest } from "#framemill/modalities/video/request.js";
import { loadModelPackage } from "#framemill/runtime/packages/model-package.js";

const modelPath = fileURLToPath(new URL("../../../models/service-motion-1", import.meta.url));
const runs: GraphRun[] = [];
let model: MotionModel;
beforeAll(async () => {
  const programs = { ffmpegPath: "ffmpeg", ffprobePath: "ffprobe", espeakPath: "" };
  const onRun = (run: GraphRun) => void runs.push(run);
  model = await openMotionModel(await loadModelPackage(modelPath), {
    modelPath,
    threads: 2,
    onRun,
    ...programs,
  });
});
afterAll(() => model?.close());

function clip(prompt: string, seed: number): VideoRequest {
  const size = { width: 1280, height: 720, seconds: 4, quality: "fast", sound: false } as const;
  const rest = { negativePrompt: "", image: null, metadata: null };
  return { model: "service-motion-1", prompt, seed, ...size, ...rest };
}

async function latents(request: VideoRequest, onStep: () => void = () => {}) {
  const { signal } = new AbortController();
  const { states: context } = await encodePrompts(model, request);
  const steps = denoise({ model, request, context, picture: null, signal });
  let next = await steps.next();
  for (; next.done !== true; next = await steps.next()) onStep();
  return next.value;
}

test("clips that share runs of the denoiser get, bit for bit, the latents they get alone", async () => {
  const boat = clip("a red boat on the ocean", 1);
  const fox = clip("a fox in the snow", 7);
  const alone = [await latents(boat), await latents(fox)];
  runs.length = 0;
  let joins: Promise<Float32Array> | undefined;
  const first = await latents(boat, () => {
    joins ??= latents(fox);
  });
  expect([first, await joins]).toEqual(alone);
  const denoiserRuns = runs.filter(({ role }) => role === "denoiser");
  expect(denoiserRuns.length).toBeLessThan(2 * model.settings.sampler.steps);
});

test("a camera that comes far too close does not enlarge the canvas without end", async () => {
  const scene = await decodeScene(model, await latents(clip("a red boat on the ocean", 1)), 5);
  const [width, height] = [1280, 720];
  const canvas = await decodeCanvas(model, { scene, frameCount: 96, width, height, picture: null });
  expect(Math.max(...scene.cameras)).toBeGreaterThan(100);
  expect([canvas.columns, canvas.rows]).toEqual([2048, 1152]);
});
