import { cp, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { toJobError } from "#framemill/core/errors.js";
import type { GraphRun, Pipeline, PipelineSetup } from "#framemill/core/modality.js";
import { parseSchedulerConfig } from "#framemill/inference/diffusion/schedulers/config.js";
import { addModel } from "#framemill/inference/layouts/add-model.js";
import { loadModelPackage, modelInfo } from "#framemill/inference/model-package.js";
import { probeMedia } from "#framemill/media/probe.js";
import { type Course, planCourse } from "#framemill/modalities/video/families/wan/course.js";
import { denoise } from "#framemill/modalities/video/families/wan/denoise.js";
import { openWanModel, type WanModel } from "#framemill/modalities/video/families/wan/wan-model.js";
import { video } from "#framemill/modalities/video/index.js";
import { createVideoPipeline } from "#framemill/modalities/video/pipeline.js";
import type { VideoOutput, VideoRequest } from "#framemill/modalities/video/request.js";
import { deviation, readFloatsNpy, reportDeviation } from "../../support/npy.js";
import { describeWithModels, publishedModel } from "../../support/published-models.js";
import { frameHash } from "../../support/frame-hash.js";
import { startUp } from "../../support/service-harness.js";

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

interface Changes {
  readonly shapes: Readonly<Record<string, unknown>>;
  readonly sampler: object;
  readonly scheduler?: object;
  /** Of the published files; the shared ones where absent. */
  readonly folder?: string;
}

describeWithModels("a published Wan model", () => {
  const { signal } = new AbortController();
  const runs: GraphRun[] = [];
  let root: string;
  let model: WanModel;
  beforeAll(async () => {
    root = await mkdtemp(join(tmpdir(), "framemill-wan-"));
    const shapes = { native: [32, 32], promptTokens: 16 };
    model = await openWanModel(await add("golden", { shapes, sampler: { steps: 4 } }));
  });
  afterAll(async () => {
    await model?.close();
    await rm(root, { recursive: true, force: true });
  });

  /** A package by `models add`, then edited as its operator would. */
  async function add(id: string, changes: Changes): Promise<PipelineSetup> {
    const { shapes, sampler, scheduler, folder = publishedModel(FOLDER) } = changes;
    const modelsDir = join(root, id);
    const { path } = await addModel(folder, { modelsDir, id, shapes, inPlace: false });
    const manifest = JSON.parse(await readFile(join(path, "model.json"), "utf8"));
    await writeFile(join(path, "model.json"), JSON.stringify({ ...manifest, sampler }));
    if (scheduler !== undefined)
      await writeFile(join(path, "scheduler/scheduler_config.json"), JSON.stringify(scheduler));
    const programs = { ffmpegPath: "ffmpeg", ffprobePath: "ffprobe", espeakPath: "" };
    return { modelPath: path, threads: 2, onRun: (run) => void runs.push(run), ...programs };
  }

  /** The latents of the goldens' prompts, from their noise. */
  async function takeSteps(asked: WanModel, course: Course): Promise<Float32Array> {
    const prompts = [
      await asked.encodePrompt("dance monkey"),
      await asked.encodePrompt("blurry"),
    ] as const;
    const start = { step: 0, sample: await golden("init_latents") };
    const steps = denoise({ model: asked, course, dims: DIMS, prompts, seed: 0, signal, start });
    let next = await steps.next();
    while (next.done !== true) next = await steps.next();
    return next.value;
  }

  test("encodes prompts as the reference does", async () => {
    const { values: prompt } = await model.encodePrompt("dance monkey");
    expect(await offGolden(prompt, "prompt_embeds")).toBeLessThan(TOLERANCE);
    const { values: negative } = await model.encodePrompt(" blurry\n");
    expect(await offGolden(negative, "negative_prompt_embeds")).toBeLessThan(TOLERANCE);
  });

  test.each([
    ["unipc_flow_shift3", "UniPCMultistepScheduler"],
    ["flow_euler_shift3", "FlowMatchEulerDiscreteScheduler"],
    ["flow_euler_shift8", "FlowMatchEulerDiscreteScheduler"],
  ])("takes the reference's steps: %s", async (name, _class_name) => {
    const { runs: trajectories } = JSON.parse(
      await readFile(publishedModel(FOLDER, "golden/golden.json"), "utf8"),
    );
    const scheduler = parseSchedulerConfig({ _class_name, ...trajectories[name].config });
    const course = planCourse({ ...model, scheduler });
    const latents = await takeSteps(model, course);
    expect(await offGolden(latents, `latents_${name}`)).toBeLessThan(TOLERANCE);
  });

  test("asks the second of two transformers below the boundary, and takes the same steps", async () => {
    const folder = join(root, "two");
    await cp(publishedModel(FOLDER), folder, { recursive: true });
    await cp(join(folder, "transformer"), join(folder, "transformer_2"), { recursive: true });
    const index = { _class_name: "WanPipeline", boundary_ratio: 0.875 };
    await writeFile(join(folder, "model_index.json"), JSON.stringify(index));
    const shapes = { native: [32, 32], promptTokens: 16 };
    const sampler = { steps: 4, guidance: [5, 5], guidanceBoundary: 0.875 };
    const two = await openWanModel(await add("two-transformers", { folder, shapes, sampler }));
    try {
      runs.length = 0;
      const latents = await takeSteps(two, planCourse(two));
      expect(await offGolden(latents, "latents_unipc_flow_shift3")).toBeLessThan(TOLERANCE);
      const asked = runs.map(({ role }) => role).filter((role) => role.startsWith("denoiser"));
      expect(asked).toEqual(["denoiser", "denoiser", "denoiser-2", "denoiser-2"]);
    } finally {
      await two.close();
    }
  });

  test.each([
    [
      { shapes: { native: [480, 840] }, sampler: {} },
      "native must be multiples of 16, got 480 × 840",
    ],
    [{ shapes: {}, sampler: { timesteps: [1000, 500] } }, "sampler.timesteps is for FlowMatch"],
    [{ shapes: {}, sampler: { steps: 2, timesteps: [1000, 500] } }, "steps or timesteps, got both"],
  ])("does not start with settings that it cannot follow: %j", async (changes, reason) => {
    const setup = await add(`refused-${reason.length}`, changes);
    await expect(openWanModel(setup)).rejects.toThrow(reason);
  });

  test("decodes the reference's frames, and no longer than its graph can", async () => {
    const latents = await golden("latents_unipc_flow_shift3");
    const { values } = await model.decoder.decode(latents, DIMS);
    expect(await offGolden(values, "video")).toBeLessThan(TOLERANCE);
    expect(model.decoder.windowLatents).toBe(DIMS[1]);
    const longer = new Float32Array((latents.length / 3) * 4);
    await expect(model.decoder.decode(longer, [16, 4, 4, 4])).rejects.toThrow(
      "the decoder made 9 frames of 4 latent frames, 13 are expected",
    );
  });

  interface Attempt {
    readonly hash?: string;
    readonly checkpoint?: Uint8Array;
    readonly steps: number;
  }

  interface AttemptInput {
    readonly request: VideoRequest;
    /** Leaves once so many steps are done. */
    readonly leavesAfter?: number;
    readonly checkpoint?: Uint8Array | undefined;
  }

  async function admitted(setup: PipelineSetup): Promise<VideoRequest> {
    const info = await modelInfo(await loadModelPackage(setup.modelPath));
    const request = await video.admit(
      { model: info.id, prompt: "a red boat", seconds: 4, seed: 7 },
      {
        model: info,
        path: "/v1/videos",
        saveInput: () => Promise.reject(new Error("no input")),
        findEarlier: async () => undefined,
      },
    );
    // As small as the model's own frames, so that hardly anything is spent on encoding.
    return { ...request, width: 48, height: 32 };
  }

  async function attempt(
    pipeline: Pipeline<VideoRequest, VideoOutput>,
    { request, leavesAfter = Infinity, checkpoint }: AttemptInput,
  ): Promise<Attempt> {
    const scratchPath = await mkdtemp(join(root, "attempt-"));
    const leaving = new AbortController();
    const files = new Map<string, string>();
    const readInput = () => Promise.reject(new Error("no input"));
    const context = { signal, scratchPath, preempted: leaving.signal, readInput };
    // The first report says where it begins.
    let steps = -1;
    const follow = async () => {
      for await (const event of pipeline.run(request, {
        ...context,
        ...(checkpoint && { checkpoint }),
      })) {
        if (event.type === "file") files.set(event.variant, event.path);
        if (event.type === "checkpoint") files.set("checkpoint", event.path);
        steps += Number(event.type === "progress" && event.stage === "steps");
        if (steps >= leavesAfter) leaving.abort();
      }
    };
    const code = await follow().then(
      () => "made",
      (thrown) => toJobError(thrown).code,
    );
    const saved = files.get("checkpoint");
    expect(code).toBe(saved === undefined ? "made" : "preempted");
    return saved === undefined
      ? { steps, hash: await frameHash(files.get("content") ?? "") }
      : { steps, checkpoint: await readFile(saved) };
  }

  const small = { native: [32, 48], promptTokens: 16, overlapLatents: 1 };
  const lcm = { _class_name: "FlowMatchLCMScheduler", shift: 8 };

  test.each([
    ["UniPC", { shapes: small, sampler: { steps: 5, guidance: 5 } }],
    [
      "a stochastic scheduler",
      { shapes: small, sampler: { timesteps: [1000, 750, 500, 250] }, scheduler: lcm },
    ],
  ])("a clip by %s is gone on with elsewhere, and has the same frames", async (name, changes) => {
    const setup = await add(name.replaceAll(" ", "-"), changes);
    const [here, there] = await Promise.all([
      createVideoPipeline(setup),
      createVideoPipeline(setup),
    ]);
    try {
      const request = await admitted(setup);
      const whole = await attempt(here, { request });
      const first = await attempt(here, { request, leavesAfter: 3 });
      expect([first.hash, first.steps]).toEqual([undefined, 3]);
      const second = await attempt(there, { request, checkpoint: first.checkpoint });
      expect([second.hash, second.steps]).toEqual([whole.hash, whole.steps - 3]);
    } finally {
      await Promise.all([here.close(), there.close()]);
    }
  });

  test("two clips share runs and have the latents they have alone; one taught to jump has a row a step", async () => {
    const ask = async (denoisers: WanModel["denoisers"], seed: number, onStep = () => {}) => {
      const prompts = [await model.encodePrompt("a red boat")] as const;
      const scheduler = parseSchedulerConfig(lcm);
      const sampler = {
        ...model.settings.sampler,
        steps: 3,
        timesteps: [1000, 757, 522],
        guidance: [1, 1] as const,
      };
      const course = planCourse({ scheduler, settings: { ...model.settings, sampler } });
      const steps = denoise({ model: { denoisers }, course, dims: DIMS, prompts, seed, signal });
      let next = await steps.next();
      for (; next.done !== true; next = await steps.next()) onStep();
      return next.value;
    };
    const rows: number[] = [];
    const [denoiser] = model.denoisers;
    const watched: WanModel["denoisers"] = [
      (question) => {
        rows.push(question.prompts.length);
        return denoiser(question);
      },
    ];
    const alone = [await ask(watched, 1), await ask(watched, 2)];
    expect(rows).toEqual([1, 1, 1, 1, 1, 1]);
    runs.length = 0;
    let joins: Promise<Float32Array> | undefined;
    const first = await ask(watched, 1, () => {
      joins ??= ask(watched, 2);
    });
    expect([first, await joins]).toEqual(alone);
    expect(runs.filter(({ role }) => role === "denoiser").length).toBeLessThan(6);
  });

  test("serves clips that play, and says what it does not serve", async () => {
    const setup = await add("wan", { shapes: small, sampler: { steps: 2 } });
    const environment = { MODELS_DIR: join(setup.modelPath, ".."), MODELS: "wan" };
    const up = await startUp(join(root, "data"), { environment });
    try {
      const create = (fields: object) =>
        up.client.videos.create({
          model: "wan",
          prompt: "a red boat",
          seconds: 5,
          ...fields,
        } as never);
      await expect(create({ quality: "standard" })).rejects.toThrow(
        "quality must be fast for wan, got standard",
      );
      await expect(create({ seconds: 6 })).rejects.toThrow("seconds must be 4 to 5 for wan, got 6");
      await expect(create({ image: "data:image/png;base64,AA==" })).rejects.toThrow(
        "image is not read by wan",
      );
      let clip = await create({});
      while (clip.status === "queued" || clip.status === "in_progress") {
        await sleep(100);
        clip = await up.client.videos.retrieve(clip.id);
      }
      expect(clip).toMatchObject({ status: "completed", quality: "fast", cost: { final: 0.4 } });
      const path = join(root, "clip.mp4");
      const content = await up.client.videos.downloadContent(clip.id);
      await writeFile(path, Buffer.from(await content.arrayBuffer()));
      const media = await probeMedia(path);
      expect(media).toMatchObject({
        durationSeconds: expect.closeTo(5, 2),
        fastStart: true,
        video: { width: 1280, height: 720, frameRate: 16, frameCount: 80, pixelFormat: "yuv420p" },
      });
      expect(media.audio).toBeUndefined();
    } finally {
      await up.stop();
    }
  });
});
