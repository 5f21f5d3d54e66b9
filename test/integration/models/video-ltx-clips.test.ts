import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { ModelInfo } from "#framemill/core/modality.js";
import { runFfmpeg } from "#framemill/media/ffmpeg.js";
import { probeMedia } from "#framemill/media/probe.js";
import { video } from "#framemill/modalities/video/index.js";
import { createVideoPipeline } from "#framemill/modalities/video/pipeline.js";
import type { VideoRequest } from "#framemill/modalities/video/request.js";
import { addModel } from "#framemill/models/add-model.js";
import { loadModelPackage, modelInfo } from "#framemill/runtime/packages/model-package.js";
import { attempt, type VideoPipeline } from "../../support/clip-attempts.js";
import { frameHash } from "../../support/frame-hash.js";
import { createModelFolders } from "../../support/model-folders.js";

/** A tiny export of LTX-2 (scripts/export/ltx.py). */
const SOURCE = fileURLToPath(new URL("../../fixtures/published/video-ltx-2", import.meta.url));

const folders = createModelFolders();
const { root } = folders;
let pipeline: VideoPipeline;
let info: ModelInfo;
let picture: Uint8Array;
beforeAll(async () => {
  const shapes = { native: [64, 96] };
  const options = { modelsDir: folders.modelsDir, id: "ltx", shapes };
  const { path: modelPath } = await addModel(join(SOURCE, "model"), options);
  const manifestPath = join(modelPath, "model.json");
  const manifest = JSON.parse(await readFile(manifestPath, "utf8")) as object;
  await writeFile(manifestPath, JSON.stringify({ ...manifest, sampler: { steps: 5 } }));
  info = await modelInfo(await loadModelPackage(modelPath));
  const programs = { ffmpegPath: "ffmpeg", ffprobePath: "ffprobe", espeakPath: "" };
  pipeline = await createVideoPipeline({ modelPath, threads: 1, ...programs });
  picture = await readFile(join(SOURCE, "picture.png"));
});
afterAll(async () => {
  await pipeline?.close();
  folders.remove();
});

function admit(body: object): Promise<VideoRequest> {
  return video.admit(
    { model: info.id, prompt: "a red boat", seconds: 4, seed: 7, ...body },
    {
      model: info,
      path: video.endpoint.path,
      saveInput: async (bytes, mediaType) => ({
        id: "picture",
        variant: "input",
        sha256: "0".repeat(64),
        byteLength: bytes.byteLength,
        mediaType,
      }),
      findEarlier: async () => undefined,
    },
  );
}

/** As small as the model's own frames, so that hardly anything is spent on encoding. */
async function admitSmall(body: object): Promise<VideoRequest> {
  return { ...(await admit(body)), width: 96, height: 64 };
}

/** 48 000 Hz, left and right in turn. */
async function soundOf(path: string): Promise<Float32Array> {
  const { stdout } = await runFfmpeg(["-v", "error", "-i", path, "-vn", "-f", "f32le", "pipe:1"]);
  return new Float32Array(stdout.slice().buffer);
}

const mean = (values: Float32Array) =>
  values.reduce((sum, value) => sum + Math.abs(value), 0) / values.length;

test("makes a clip with the sound that was denoised with it, as long as its frames", async () => {
  const request = await admitSmall({ seconds: 5 });
  const { end, files } = await attempt(pipeline, { request, root });
  expect(end).toBe("made");
  const content = files.get("content") ?? "";
  expect(await probeMedia(content)).toMatchObject({
    durationSeconds: expect.closeTo(5, 1),
    video: { width: 96, height: 64, frameRate: 24, frameCount: 120 },
    audio: { codec: "aac", sampleRateHz: 48_000, channels: 2 },
  });
  const sound = await soundOf(content);
  expect(sound.length / 2 / 48_000).toBeCloseTo(5, 1);
  // Heard from the beginning to the end.
  for (const part of [0, 0.25, 0.5, 0.75])
    expect(mean(sound.subarray(part * sound.length, (part + 0.25) * sound.length))).toBeGreaterThan(
      0.01,
    );
});

test("leaves the sound out in the tier that has none, of the same frames", async () => {
  const [loud, silent] = await Promise.all([
    attempt(pipeline, { request: await admitSmall({}), root }),
    attempt(pipeline, { request: await admitSmall({ quality: "fast" }), root }),
  ]);
  const media = await probeMedia(silent.files.get("content") ?? "");
  expect(media.audio).toBeUndefined();
  const [found, expected] = await Promise.all(
    [silent, loud].map(({ files }) => frameHash(files.get("content") ?? "")),
  );
  expect(found).toBe(expected);
});

test("goes on elsewhere from a picture, with the same frames and the same sound", async () => {
  const image = `data:image/png;base64,${Buffer.from(picture).toString("base64")}`;
  const request = await admitSmall({ image, fit: "cover" });
  const whole = await attempt(pipeline, { request, root, picture });
  expect([whole.end, whole.steps]).toEqual(["made", 5]);
  const first = await attempt(pipeline, { request, root, picture, leavesAfter: 3 });
  expect([first.end, first.steps]).toEqual(["preempted", 3]);
  const checkpoint = await readFile(first.files.get("checkpoint") ?? "");
  const second = await attempt(pipeline, { request, root, picture, checkpoint });
  expect([second.end, second.steps]).toEqual(["made", 2]);
  const paths = [second, whole].map(({ files }) => files.get("content") ?? "");
  const [found, expected] = await Promise.all(paths.map(frameHash));
  expect(found).toBe(expected);
  const [foundSound, expectedSound] = await Promise.all(paths.map(soundOf));
  expect(foundSound).toEqual(expectedSound);
  const words = await attempt(pipeline, { request: { ...request, image: null }, root });
  expect(await frameHash(words.files.get("content") ?? "")).not.toBe(expected);
});

test.each([
  [{ quality: "high" }, "quality must be standard or fast for ltx, got high"],
  [{ quality: "fast", generate_audio: true }, "generate_audio must be false for quality fast"],
  [{ seconds: 11 }, "seconds must be a whole number from 4 to 10"],
])("says what it does not serve: %j", async (body, reason) => {
  await expect(admit(body)).rejects.toThrow(reason);
});
