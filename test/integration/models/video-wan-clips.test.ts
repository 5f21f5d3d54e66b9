import { readFile } from "node:fs/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { ModelInfo } from "#framemill/core/modality.js";
import { loadModelPackage, modelInfo } from "#framemill/runtime/packages/model-package.js";
import { runFfmpeg } from "#framemill/media/ffmpeg.js";
import { probeMedia } from "#framemill/media/probe.js";
import { video } from "#framemill/modalities/video/index.js";
import { createVideoPipeline } from "#framemill/modalities/video/pipeline.js";
import type { VideoRequest } from "#framemill/modalities/video/request.js";
import { attempt, type VideoPipeline } from "../../support/clip-attempts.js";
import { frameHash } from "../../support/frame-hash.js";
import { createWanModels, type WanWishes } from "../../support/wan-models.js";

const models = createWanModels();
const { root } = models.folders;
let pipeline: VideoPipeline;
let info: ModelInfo;
beforeAll(async () => {
  const setup = await models.add({ sampler: { steps: 6, guidance: 5 } });
  info = await modelInfo(await loadModelPackage(setup.modelPath));
  pipeline = await createVideoPipeline(setup);
});
afterAll(async () => {
  await pipeline?.close();
  await models.close();
});

function admit(body: object, model = info): Promise<VideoRequest> {
  return video.admit(
    { model: model.id, prompt: "a red boat", seconds: 4, seed: 7, ...body },
    {
      model,
      path: video.endpoint.path,
      saveInput: () => Promise.reject(new Error("no input")),
      findEarlier: async () => undefined,
    },
  );
}

/** As small as the model's own frames, so that hardly anything is spent on encoding. */
async function admitSmall(): Promise<VideoRequest> {
  return { ...(await admit({})), width: 48, height: 32 };
}

test.each<[string, WanWishes]>([
  ["UniPC", { sampler: { steps: 5, guidance: 5 } }],
  [
    "a stochastic scheduler",
    {
      tiny: { scheduler: { _class_name: "FlowMatchLCMScheduler", shift: 8 } },
      sampler: { timesteps: [1_000, 800, 600, 400, 200] },
    },
  ],
])("a clip by %s is gone on with elsewhere, and has the same frames", async (_, wishes) => {
  const unrolled = { ...wishes.tiny, latentFrames: 5 };
  const shared = await models.add({ ...wishes, tiny: unrolled });
  const [here, there] = await Promise.all([
    createVideoPipeline(shared),
    createVideoPipeline(shared),
  ]);
  try {
    const request = await admitSmall();
    const whole = await attempt(here, { request, root });
    expect([whole.end, whole.steps]).toEqual(["made", 5]);
    const first = await attempt(here, { request, root, leavesAfter: 3 });
    expect([first.end, first.steps]).toEqual(["preempted", 3]);
    const checkpoint = await readFile(first.files.get("checkpoint") ?? "");
    const second = await attempt(there, { request, root, checkpoint });
    expect([second.end, second.steps]).toEqual(["made", 2]);
    const hashes = [whole, second].map(({ files }) => frameHash(files.get("content") ?? ""));
    const [expected, found] = await Promise.all(hashes);
    expect(found).toBe(expected);
  } finally {
    await Promise.all([here.close(), there.close()]);
  }
});

test("stops at the step at which it is cancelled", async () => {
  models.runs.length = 0;
  const request = await admitSmall();
  const { end, steps } = await attempt(pipeline, { request, root, cancelledAfter: 2 });
  expect([end, steps]).toEqual(["cancelled", 2]);
  expect(models.runs.filter(({ role }) => role === "denoiser")).toHaveLength(2);
});

test("makes silent clips of the size that is asked for, at the model's frame rate", async () => {
  const { files } = await attempt(pipeline, { request: await admit({ seconds: 5 }), root });
  const media = await probeMedia(files.get("content") ?? "");
  expect(media).toMatchObject({
    durationSeconds: expect.closeTo(5, 2),
    fastStart: true,
    video: { width: 1280, height: 720, frameRate: 16, frameCount: 80, pixelFormat: "yuv420p" },
  });
  expect(media.audio).toBeUndefined();
});

test("where the operator gives a sound bed, the standard tier has it", async () => {
  const setup = await models.add({
    sampler: { steps: 2, guidance: 5 },
    soundBed: await noiseWav(),
  });
  const sounding = await createVideoPipeline(setup);
  try {
    const model = await modelInfo(await loadModelPackage(setup.modelPath));
    expect(model.tiers).toEqual(["standard", "fast"]);
    const request = await admit({}, model);
    const { files, end } = await attempt(sounding, { request, root });
    expect(end).toBe("made");
    const media = await probeMedia(files.get("content") ?? "");
    expect(media).toMatchObject({
      video: { width: 1280, height: 720, frameCount: 64 },
      audio: { codec: "aac", channels: 2, durationSeconds: expect.closeTo(4, 1) },
    });
    const silent = await admit({ quality: "fast" }, model);
    const without = await attempt(sounding, { request: silent, root });
    expect((await probeMedia(without.files.get("content") ?? "")).audio).toBeUndefined();
  } finally {
    await sounding.close();
  }
});

/** Three seconds of noise. */
async function noiseWav(): Promise<Uint8Array> {
  const source = ["-f", "lavfi", "-i", "anoisesrc=d=3:a=0.3:seed=1"];
  const { stdout } = await runFfmpeg(["-v", "error", ...source, "-f", "wav", "pipe:1"]);
  return stdout;
}

test.each([
  [{ quality: "standard" }, "quality must be fast for wan-1, got standard"],
  [{ seconds: 6 }, "seconds must be 4 to 5 for wan-1, got 6"],
  [{ image: "data:image/png;base64,AA==" }, "image is not read by wan-1"],
])("says what it does not serve: %j", async (body, reason) => {
  await expect(admit(body)).rejects.toThrow(reason);
});
