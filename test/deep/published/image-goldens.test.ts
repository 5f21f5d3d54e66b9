import { cp, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { PipelineContext } from "#framemill/core/modality.js";
import {
  type Planes,
  createAutoencoder,
  parseLatentScale,
} from "#framemill/models/diffusion/autoencoder.js";
import { parseSchedulerConfig } from "#framemill/models/diffusion/schedulers/config.js";
import type { NoiseSource } from "#framemill/models/sampling/noise.js";
import { openGraphs, type Graphs } from "#framemill/runtime/ort/graphs.js";
import { coverRgb, encodePicture, rgbOfPlanes } from "#framemill/media/image.js";
import { diffuse, type DiffuseInput, packSquares } from "#framemill/modalities/image/diffuse.js";
import { type ImageModel, openImageModel } from "#framemill/models/image-model.js";
import { planImages } from "#framemill/modalities/image/pipeline.js";
import type { ImageRequest } from "#framemill/modalities/image/request.js";
import { addedModel } from "../../support/added-model.js";
import { deviation, readFloatsNpy, reportDeviation } from "../../support/npy.js";
import { describeWithModels, publishedModel } from "../../support/published-models.js";
import { loadModelPackage } from "#framemill/runtime/packages/model-package.js";

/** Against diffusers 0.40.0.dev0 with PyTorch graphs; the goldens state no tolerance of their own. */
const TOLERANCE = 1e-3;

const programs = { ffmpegPath: "ffmpeg", ffprobePath: "ffprobe", espeakPath: "espeak-ng" };

const context: PipelineContext = {
  signal: new AbortController().signal,
  scratchPath: tmpdir(),
  readInput: () => Promise.reject(new Error("no inputs")),
};

const request = (changes: Partial<ImageRequest>): ImageRequest => ({
  prompt: "a photo of an astronaut riding a horse",
  negativePrompt: null,
  n: 1,
  size: { width: 128, height: 128 },
  quality: "medium",
  format: "png",
  compression: 100,
  delivery: "b64_json",
  stream: false,
  partialImages: 0,
  seed: 1,
  steps: null,
  guidance: null,
  ...changes,
});

/** The reference's draws, in order: the first latents, then what the scheduler drew. */
function recorded(first: Float32Array, later: Float32Array): NoiseSource {
  const all = [...first, ...later];
  let start = 0;
  return (length) => Float32Array.from(all.slice(start, (start += length)));
}

async function finish(input: DiffuseInput): Promise<Planes> {
  const steps = diffuse(input);
  for (;;) {
    const result = await steps.next();
    if (result.done) return result.value;
  }
}

describeWithModels("Stable Diffusion 1.5 as the reference runs it", () => {
  const golden = (name: string) => publishedModel("tiny-official/image-sd15/golden", name);
  const CLASSES: Readonly<Record<string, string>> = {
    pndm: "PNDMScheduler",
    ddim: "DDIMScheduler",
    euler: "EulerDiscreteScheduler",
    euler_trailing: "EulerDiscreteScheduler",
    euler_karras: "EulerDiscreteScheduler",
    euler_ancestral: "EulerAncestralDiscreteScheduler",
    euler_a_turbo_trailing_1step: "EulerAncestralDiscreteScheduler",
    dpmpp_2m: "DPMSolverMultistepScheduler",
    dpmpp_2m_karras: "DPMSolverMultistepScheduler",
    unipc: "UniPCMultistepScheduler",
    lms: "LMSDiscreteScheduler",
    lcm: "LCMScheduler",
  };
  interface Run {
    readonly steps: number;
    readonly guidance_scale: number;
    readonly config: object;
  }
  let model: ImageModel;
  let runs: Record<string, Run>;

  beforeAll(async () => {
    const { path: modelPath } = await addedModel("tiny-official/image-sd15");
    model = await openImageModel(await loadModelPackage(modelPath), {
      modelPath,
      threads: 1,
      ...programs,
    });
    const text = await readFile(golden("golden.json"), "utf8");
    runs = JSON.parse(text.replaceAll("-Infinity", "null")).runs;
  });
  afterAll(() => model?.close());

  test("encodes the prompt and the negative prompt", async () => {
    const { plan } = await planImages(model, request({ negativePrompt: "blurry" }), context);
    const [prompt, negative] = plan.conditions;
    const expected = await readFloatsNpy(golden("prompt_embeds.npy"));
    expect(deviation(prompt?.context.data as Float32Array, expected)).toBeLessThan(1e-4);
    const unwanted = await readFloatsNpy(golden("negative_prompt_embeds.npy"));
    expect(deviation(negative?.context.data as Float32Array, unwanted)).toBeLessThan(1e-4);
  });

  test.each(Object.keys(CLASSES))("reaches the latents of %s", async (name) => {
    const run = runs[name];
    if (run === undefined) throw new Error(`golden.json has no run ${name}`);
    const scheduler = parseSchedulerConfig({ _class_name: CLASSES[name], ...run.config });
    const { steps, guidance_scale: guidance } = run;
    const asked = request({ steps, guidance, negativePrompt: "blurry" });
    const { plan } = await planImages({ ...model, scheduler }, asked, context);
    const later = await readFloatsNpy(golden(`noise_${name}.npy`)).catch(() => new Float32Array());
    const noise = recorded(await readFloatsNpy(golden("init_latents.npy")), later);
    const latents = await finish({ ...plan, noise });
    const far = deviation(latents.values, await readFloatsNpy(golden(`latents_${name}.npy`)));
    reportDeviation(`sd15 ${name} latents`, far);
    expect(far).toBeLessThan(TOLERANCE);
    if (name !== "pndm" && name !== "euler") return;
    const picture = await model.autoencoder.decode(latents);
    const image = await readFloatsNpy(golden(`image_${name}.npy`));
    const imageFar = deviation(picture.values, image);
    reportDeviation(`sd15 ${name} image`, imageFar);
    expect(imageFar).toBeLessThan(TOLERANCE);
  });
});

describeWithModels("Flux schnell as the reference runs it", () => {
  const golden = (name: string) => publishedModel("tiny-official/image-flux-schnell/golden", name);
  let folder: string;
  let model: ImageModel;

  beforeAll(async () => {
    const added = await addedModel("tiny-official/image-flux-schnell");
    folder = await mkdtemp(join(tmpdir(), "framemill-flux-"));
    await cp(added.path, folder, { recursive: true });
    const manifest = JSON.parse(await readFile(join(folder, "model.json"), "utf8"));
    // The golden was made with T5 texts of 32 tokens, to keep it small.
    manifest.shapes.promptTokens = 32;
    await writeFile(join(folder, "model.json"), JSON.stringify(manifest));
    model = await openImageModel(await loadModelPackage(folder), {
      modelPath: folder,
      threads: 1,
      ...programs,
    });
  });
  afterAll(async () => {
    await model?.close();
    await rm(folder, { recursive: true, force: true });
  });

  test("reaches its latents and its picture in four steps", async () => {
    const { plan } = await planImages(model, request({}), context);
    expect(plan.steps).toBe(4);
    const [condition] = plan.conditions;
    const embeds = await readFloatsNpy(golden("prompt_embeds.npy"));
    expect(deviation(condition?.context.data as Float32Array, embeds)).toBeLessThan(1e-4);
    const pooled = await readFloatsNpy(golden("pooled.npy"));
    expect(deviation(condition?.pooled?.data as Float32Array, pooled)).toBeLessThan(1e-4);
    const noise = recorded(await readFloatsNpy(golden("init_latents.npy")), new Float32Array());
    const latents = await finish({ ...plan, noise });
    const packed = await readFloatsNpy(golden("latents_packed.npy"));
    expect(deviation(packSquares(latents.values, latents), packed)).toBeLessThan(TOLERANCE);
    const picture = await model.autoencoder.decode(latents);
    const far = deviation(picture.values, await readFloatsNpy(golden("image.npy")));
    reportDeviation("flux image", far);
    expect(far).toBeLessThan(TOLERANCE);
  });
});

describeWithModels("a trained autoencoder", () => {
  let sessions: Graphs;

  beforeAll(async () => {
    const graphs = {
      "vae-encoder": publishedModel("image-taef2/vae_encoder/model.onnx"),
      "vae-decoder": publishedModel("image-taef2/vae_decoder/model.onnx"),
    };
    sessions = await openGraphs({ graphs, threads: 2, providers: ["cpu"] });
  });
  afterAll(() => sessions?.close());

  test("gives a picture back at 33 dB and more, through the encoded file", async () => {
    const file = await readFile(publishedModel("image-taef2/golden/input.png"));
    const side = 256;
    const pixels = await coverRgb(file, side, side);
    const planes = new Float32Array(pixels.length);
    for (let index = 0; index < side * side; index += 1)
      for (let channel = 0; channel < 3; channel += 1)
        planes[channel * side * side + index] = (pixels[index * 3 + channel] ?? 0) / 127.5 - 1;
    const scale = parseLatentScale({ scaling_factor: 1 });
    const autoencoder = createAutoencoder(sessions, scale);
    const picture = { values: planes, channels: 3, height: side, width: side };
    const latents = await autoencoder.encode(picture);
    expect([latents.channels, latents.height, latents.width]).toEqual([32, 32, 32]);
    const golden = await readFloatsNpy(publishedModel("image-taef2/golden/latent.npy"));
    const far = deviation(latents.values, golden);
    reportDeviation("taef2 latent", far);
    expect(far).toBeLessThan(TOLERANCE);
    const decoded = await autoencoder.decode(latents);
    const png = await encodePicture(rgbOfPlanes(decoded.values, side, side), "png", 100);
    const back = await coverRgb(png, side, side);
    const squares = pixels.reduce(
      (sum, value, index) => sum + (value - (back[index] ?? 0)) ** 2,
      0,
    );
    const decibels = 10 * Math.log10(255 ** 2 / (squares / pixels.length));
    reportDeviation("taef2 PSNR", decibels);
    expect(decibels).toBeGreaterThan(33);
  });
});
