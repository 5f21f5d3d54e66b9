import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { parseSchedulerConfig } from "#framemill/models/diffusion/schedulers/config.js";
import { addModel } from "#framemill/models/add-model.js";
import { probeMedia } from "#framemill/media/probe.js";
import { denoise, planSchedule } from "#framemill/models/wan/denoise.js";
import { openWanModel, type WanModel } from "#framemill/models/wan/model.js";
import { deviation, readFloatsNpy, reportDeviation } from "../../support/npy.js";
import { describeWithModels, publishedModel } from "../../support/published-models.js";
import { startUp } from "../../support/service-harness.js";
import { loadModelPackage } from "#framemill/runtime/packages/model-package.js";

const FOLDER = "tiny-official/video-wan21-t2v";
/** Against diffusers 0.40.0.dev0 with PyTorch graphs; the goldens state no tolerance of their own. */
const TOLERANCE = 1e-3;
/** Channels, latent frames, rows and columns of the goldens. */
const DIMS = [16, 3, 4, 4] as const;

const golden = (name: string) => readFloatsNpy(publishedModel(FOLDER, "golden", `${name}.npy`));

/** By how much values are off those of the reference, at most. */
async function offGolden(actual: Float32Array, name: string): Promise<number> {
  const off = deviation(actual, await golden(name));
  reportDeviation(name, off);
  return off;
}

describeWithModels("Wan 2.1 as the reference runs it", () => {
  let root: string;
  let model: WanModel;
  beforeAll(async () => {
    root = await mkdtemp(join(tmpdir(), "framemill-wan-"));
    const modelPath = await add({ steps: 4 });
    const programs = { ffmpegPath: "ffmpeg", ffprobePath: "ffprobe", espeakPath: "" };
    model = await openWanModel(await loadModelPackage(modelPath), {
      modelPath,
      threads: 2,
      ...programs,
    });
  });
  afterAll(async () => {
    await model?.close();
    await rm(root, { recursive: true, force: true });
  });

  async function add(sampler: object): Promise<string> {
    const modelsDir = await mkdtemp(join(root, "models-"));
    const shapes = { native: [32, 32], promptTokens: 16, overlapLatents: 1 };
    const options = { modelsDir, id: "wan", shapes, inPlace: false };
    const { path } = await addModel(publishedModel(FOLDER), options);
    const manifest = JSON.parse(await readFile(join(path, "model.json"), "utf8"));
    await writeFile(join(path, "model.json"), JSON.stringify({ ...manifest, sampler }));
    return path;
  }

  test("encodes prompts", async () => {
    const { values: prompt } = await model.encodePrompt("dance monkey");
    expect(await offGolden(prompt, "prompt_embeds")).toBeLessThan(TOLERANCE);
    const { values: negative } = await model.encodePrompt(" blurry\n");
    expect(await offGolden(negative, "negative_prompt_embeds")).toBeLessThan(TOLERANCE);
  });

  test.each([
    ["unipc_flow_shift3", "UniPCMultistepScheduler"],
    ["flow_euler_shift3", "FlowMatchEulerDiscreteScheduler"],
    ["flow_euler_shift8", "FlowMatchEulerDiscreteScheduler"],
  ])("reaches the latents of %s", async (name, _class_name) => {
    const { runs } = JSON.parse(
      await readFile(publishedModel(FOLDER, "golden/golden.json"), "utf8"),
    );
    const scheduler = parseSchedulerConfig({ _class_name, ...runs[name].config });
    const { signal } = new AbortController();
    const steps = denoise({
      model,
      schedule: planSchedule({ ...model, scheduler }),
      dims: DIMS,
      prompts: [await model.encodePrompt("dance monkey"), await model.encodePrompt("blurry")],
      seed: 0,
      signal,
      start: { step: 0, sample: await golden("init_latents") },
    });
    let next = await steps.next();
    while (next.done !== true) next = await steps.next();
    expect(await offGolden(next.value, `latents_${name}`)).toBeLessThan(TOLERANCE);
  });

  test("decodes the reference's frames, by a graph that was unrolled for three latent frames", async () => {
    const latents = await golden("latents_unipc_flow_shift3");
    const { values } = await model.decoder.decode(latents, DIMS);
    expect(await offGolden(values, "video")).toBeLessThan(TOLERANCE);
    expect(model.decoder.windowLatents).toBe(DIMS[1]);
  });

  test("is served to callers, whose clips play", async () => {
    const environment = { MODELS_DIR: join(await add({ steps: 2 }), ".."), MODELS: "wan" };
    const up = await startUp(join(root, "data"), { environment });
    try {
      const { videos } = up.client;
      const asked = { model: "wan", prompt: "a red boat", seconds: 5 };
      const { id } = await videos.create(asked as never);
      await expect
        .poll(async () => (await videos.retrieve(id)).status, { timeout: 120_000 })
        .toBe("completed");
      expect(await videos.retrieve(id)).toMatchObject({ quality: "fast", cost: { final: 0.4 } });
      const path = join(root, "clip.mp4");
      const content = await videos.downloadContent(id);
      await writeFile(path, Buffer.from(await content.arrayBuffer()));
      expect(await probeMedia(path)).toMatchObject({
        durationSeconds: expect.closeTo(5, 2),
        video: { width: 1280, height: 720, frameRate: 16, frameCount: 80 },
      });
    } finally {
      await up.stop();
    }
  });
});
