import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { NotFoundError } from "openai";
import type { Video } from "openai/resources/videos";
import { Client } from "pg";
import sharp from "sharp";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { measureLoudness } from "#framemill/media/loudness.js";
import { probeMedia } from "#framemill/media/probe.js";
import { frameHash } from "../../support/frame-hash.js";
import { type ServiceProcesses, startApart, startUp } from "../../support/service-harness.js";
import { BUCKET, S3_KEY, startS3Server } from "../../support/s3-server.js";

const PROMPT = "a red boat sails across the ocean at sunset";
const MODEL = "service-motion-1";
const EXAMPLE = fileURLToPath(new URL("../../../examples/make-clip.mjs", import.meta.url));

interface Mode {
  readonly name: string;
  /** Starts what the mode stands on; gives the way to start, and start again, the service on it. */
  readonly prepare: (folder: string) => Promise<Prepared>;
}

interface Prepared {
  start(): Promise<ServiceProcesses>;
  close(): Promise<void>;
}

const modes: Mode[] = [
  {
    name: "everything embedded",
    async prepare(folder) {
      return { start: () => startUp(join(folder, "data")), close: async () => {} };
    },
  },
  { name: "front and worker apart, on RabbitMQ, Postgres and S3", prepare: prepareApart },
];

describe.each(modes)("the service with $name", ({ prepare }) => {
  let folder = "";
  let prepared: Prepared;
  let up: ServiceProcesses;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "framemill-service-"));
    prepared = await prepare(folder);
    up = await prepared.start();
  });
  afterAll(async () => {
    await up.stop();
    await prepared.close();
    await rm(folder, { recursive: true, force: true });
  });

  /** Creates with the stock client; `quality` is ours and not in its types. */
  const create = (fields: object) =>
    up.client.videos.create({ model: MODEL, prompt: PROMPT, seconds: "4", ...fields } as never);
  const finish = async (video: Video): Promise<Video & { cost: { final: number } }> => {
    let current = video;
    while (current.status === "queued" || current.status === "in_progress") {
      await sleep(200);
      current = await up.client.videos.retrieve(video.id);
    }
    return current as Video & { cost: { final: number } };
  };
  const download = async (video: Video): Promise<string> => {
    const response = await up.client.videos.downloadContent(video.id);
    const path = join(folder, `${video.id}.mp4`);
    await writeFile(path, Buffer.from(await response.arrayBuffer()));
    return path;
  };
  const make = async (fields: object) => download(await finish(await create(fields)));

  test("makes a standard clip that plays: 720p, 24 frames a second, 4 s, with a sound bed", async () => {
    const created = await create({});
    expect(created).toMatchObject({ object: "video", status: "queued", progress: 0 });
    const video = await finish(created);
    expect(video).toMatchObject({ status: "completed", progress: 100, cost: { final: 0.72 } });
    const path = await download(video);
    const media = await probeMedia(path);
    expect(media).toMatchObject({
      durationSeconds: expect.closeTo(4, 1),
      fastStart: true,
      video: { codec: "h264", pixelFormat: "yuv420p", width: 1280, height: 720, frameCount: 96 },
      audio: { codec: "aac", channels: 2 },
    });
    const { integratedLufs, truePeakDb } = await measureLoudness(path);
    expect(integratedLufs).toBeGreaterThan(-30);
    expect(truePeakDb).toBeLessThan(0);
  });

  test("makes a fast clip of 6 seconds: 144 frames and no sound track", async () => {
    const media = await probeMedia(await make({ quality: "fast", seconds: "6" }));
    expect(media).toMatchObject({
      durationSeconds: expect.closeTo(6, 1),
      video: { frameCount: 144 },
    });
    expect(media.audio).toBeUndefined();
  });

  test("serves the example that the documentation shows", async () => {
    const path = join(folder, "example.mp4");
    const env = { ...process.env, OPENAI_BASE_URL: up.baseUrl, OPENAI_API_KEY: up.apiKey };
    await promisify(execFile)(process.execPath, [EXAMPLE, PROMPT, path], { env });
    expect(await probeMedia(path)).toMatchObject({ video: { frameCount: 96 } });
  });

  test("makes the same frames from the same seed and others from another", async () => {
    const [first, second, third] = await Promise.all(
      [7, 7, 8].map(async (seed) => frameHash(await make({ quality: "fast", seed }))),
    );
    expect(second).toBe(first);
    expect(third).not.toBe(first);
  });

  test("starts a clip at the picture it was given", async () => {
    const picture = await sharp(Buffer.from(SCENE)).png().toBuffer();
    const file = new File([new Uint8Array(picture)], "scene.png", { type: "image/png" });
    const path = await make({
      quality: "fast",
      input_reference: file,
      prompt: "a boat",
      // Clouds or mist may drift over the picture; in this one they hardly do.
      seed: 2,
    });
    const [top, bottom] = await firstFrameHalves(path);
    expect(top).toEqual([
      expect.closeTo(0x20, -1.7),
      expect.closeTo(0x90, -1.7),
      expect.closeTo(0x50, -1.7),
    ]);
    expect(bottom).toEqual([
      expect.closeTo(0xb0, -1.7),
      expect.closeTo(0x60, -1.7),
      expect.closeTo(0x90, -1.7),
    ]);
  });

  test("starts again when the inference process is killed in mid-clip, and charges once", async () => {
    const created = await create({ quality: "fast" });
    for (let video = created; (video.progress ?? 0) < 20; await sleep(50)) {
      video = await up.client.videos.retrieve(created.id);
    }
    process.kill(up.inferencePid(), "SIGKILL");
    const video = await finish(created);
    expect(video).toMatchObject({ status: "completed", cost: { final: 0.32 } });
    const row = (await up.jobs()).find(({ id }) => id === created.id);
    expect(row).toMatchObject({ state: "completed", attempts: 2, chargedMicroUsd: 320_000 });
  });

  test("really stops a clip that is cancelled, and charges nothing", async () => {
    const created = await create({ seconds: "10" });
    const answer = await fetch(`${up.baseUrl}/videos/${created.id}/cancel`, {
      method: "POST",
      headers: { authorization: `Bearer ${up.apiKey}` },
    });
    expect(answer.status).toBe(200);
    const video = await finish(created);
    expect(video).toMatchObject({
      status: "failed",
      error: { code: "cancelled" },
      cost: { final: 0 },
    });
    // The next clip comes at once: the slot was freed.
    expect(await finish(await create({ quality: "fast" }))).toMatchObject({ status: "completed" });
  });

  // A killed worker's lease lasts 30 s, and only then may another take the clip.
  test(
    "keeps queued and running clips over a restart and over a kill",
    { timeout: 180_000 },
    async () => {
      const clips = await Promise.all([1, 2, 3].map((seed) => create({ quality: "fast", seed })));
      await up.stop("SIGKILL");
      up = await prepared.start();
      await sleep(500);
      await up.stop("SIGTERM");
      up = await prepared.start();
      const videos = await Promise.all(clips.map(finish));
      expect(videos.map(({ status }) => status)).toEqual(["completed", "completed", "completed"]);
      const rows = await up.jobs();
      const charged = clips.map(({ id }) => rows.find((row) => row.id === id)?.chargedMicroUsd);
      expect(charged).toEqual([320_000, 320_000, 320_000]);
    },
  );

  test("answers another project's clip like one that is not there", async () => {
    const unknown = `video_${randomBytes(16).toString("hex")}`;
    await expect(up.client.videos.retrieve(unknown)).rejects.toBeInstanceOf(NotFoundError);
  });

  test("leaves no file behind but the artifacts", async () => {
    const scratch = join(folder, "data", "scratch");
    const attempts = await Promise.all(
      (await readdir(scratch)).map((name) => readdir(join(scratch, name))),
    );
    expect(attempts.flat()).toEqual([]);
  });
});

describe("a high clip of 10 seconds", () => {
  let folder = "";
  let up: ServiceProcesses;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "framemill-high-"));
    up = await startUp(folder);
  });
  afterEach(async () => {
    await up.stop();
    await rm(folder, { recursive: true, force: true });
  });

  test("has 240 frames of 1920 × 1080 with sound", { timeout: 240_000 }, async () => {
    const { client } = up;
    const request = { model: MODEL, prompt: PROMPT, seconds: "10", quality: "high" };
    let video = await client.videos.create(request as never);
    while (video.status === "queued" || video.status === "in_progress") {
      await sleep(500);
      video = await client.videos.retrieve(video.id);
    }
    const path = join(folder, "clip.mp4");
    const content = await client.videos.downloadContent(video.id);
    await writeFile(path, Buffer.from(await content.arrayBuffer()));
    expect(await probeMedia(path)).toMatchObject({
      durationSeconds: expect.closeTo(10, 1),
      video: { width: 1920, height: 1080, frameCount: 240 },
      audio: { codec: "aac" },
    });
  });
});

/** A database of its own on the server that DATABASE_URL names, and a bucket. */
async function prepareApart(folder: string): Promise<Prepared> {
  const { AMQP_URL: amqpUrl, DATABASE_URL: databaseUrl } = process.env;
  if (!amqpUrl || !databaseUrl) {
    throw new Error("AMQP_URL and DATABASE_URL name the servers: run npm test");
  }
  const s3 = await startS3Server(join(folder, "s3"));
  const services = {
    AMQP_URL: amqpUrl,
    DATABASE_URL: await createDatabase(databaseUrl),
    S3_BUCKET: BUCKET,
    S3_ENDPOINT: s3.endpoint,
    S3_ACCESS_KEY_ID: S3_KEY,
    S3_SECRET_ACCESS_KEY: S3_KEY,
  };
  return { start: () => startApart(join(folder, "data"), services), close: () => s3.close() };
}

async function createDatabase(databaseUrl: string): Promise<string> {
  const name = `service_${randomBytes(6).toString("hex")}`;
  const client = new Client({ connectionString: databaseUrl });
  await client.connect();
  await client.query(`CREATE DATABASE ${name}`);
  await client.end();
  const url = new URL(databaseUrl);
  url.pathname = `/${name}`;
  return url.toString();
}

const SCENE = `<svg xmlns="http://www.w3.org/2000/svg" width="1280" height="720">
  <rect width="1280" height="720" fill="#209050"/><rect y="360" width="1280" height="360" fill="#b06090"/></svg>`;

const ffmpeg = (args: readonly string[]) =>
  promisify(execFile)(process.env["FFMPEG_PATH"] ?? "ffmpeg", ["-v", "error", ...args], {
    encoding: "buffer",
    maxBuffer: 1e8,
  });

/** Mean RGB of the upper and the lower half of the first frame. */
async function firstFrameHalves(path: string): Promise<number[][]> {
  const scale = ["-vf", "scale=1:2:flags=area", "-frames:v", "1"];
  const { stdout } = await ffmpeg([
    "-i",
    path,
    ...scale,
    "-f",
    "rawvideo",
    "-pix_fmt",
    "rgb24",
    "-",
  ]);
  return [[...stdout.subarray(0, 3)], [...stdout.subarray(3, 6)]];
}
