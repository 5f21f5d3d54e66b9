import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { PipelineEvent } from "#framemill/core/events.js";
import type { ModelInfo, Pipeline } from "#framemill/core/modality.js";
import { video } from "#framemill/modalities/video/index.js";
import { createVideoPipeline } from "#framemill/modalities/video/pipeline.js";
import type { VideoOutput, VideoRequest } from "#framemill/modalities/video/request.js";
import { frameHash } from "../../support/frame-hash.js";

const modelPath = fileURLToPath(new URL("../../../models/service-motion-1", import.meta.url));
const ffmpegPath = process.env["FFMPEG_PATH"] ?? "ffmpeg";
const ffprobePath = process.env["FFPROBE_PATH"] ?? "ffprobe";
const model: ModelInfo = {
  id: "service-motion-1",
  modality: "video",
  createdAtSeconds: 0,
  concurrency: 1,
  minSeconds: 4,
  maxSeconds: 10,
};

interface Attempt {
  /** Denoising steps that were done in it. */
  readonly steps: number;
  readonly frames?: string;
  readonly checkpoint?: Uint8Array;
}

describe("a clip whose worker must leave", () => {
  let folder = "";
  let pipeline: Pipeline<VideoRequest, VideoOutput>;
  let request: VideoRequest;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "framemill-resume-"));
    const programs = { ffmpegPath, ffprobePath, espeakPath: "" };
    pipeline = await createVideoPipeline({ modelPath, threads: 2, ...programs });
    const body = { model: model.id, prompt: "a fox in the snow", seconds: 4, quality: "fast" };
    const admitted = await video.admit(
      { ...body, seed: 7 },
      {
        model,
        path: "/v1/videos",
        saveInput: () => Promise.reject(new Error("no input")),
        findEarlier: async () => undefined,
      },
    );
    // As many frames as any clip of 4 s, of a sixteenth of the pixels.
    request = { ...admitted, width: 320, height: 180 };
  });
  afterAll(async () => {
    await pipeline?.close();
    await rm(folder, { recursive: true, force: true });
  });

  /** Runs until the clip is made or, once `leaves` holds, until it is handed over. */
  async function run(
    leaves: (event: PipelineEvent) => boolean,
    checkpoint?: Uint8Array,
  ): Promise<Attempt> {
    const scratchPath = await mkdtemp(join(folder, "attempt-"));
    const leaving = new AbortController();
    const { signal } = new AbortController();
    const files = new Map<string, string>();
    const events: PipelineEvent[] = [];
    const context = {
      signal,
      scratchPath,
      preempted: leaving.signal,
      readInput: () => Promise.reject(new Error("no input")),
      ...(checkpoint !== undefined && { checkpoint }),
    };
    const collect = async () => {
      for await (const event of pipeline.run(request, context)) {
        events.push(event);
        if (event.type === "file") files.set(event.variant, event.path);
        if (event.type === "checkpoint") files.set("checkpoint", event.path);
        if (leaves(event)) leaving.abort();
      }
    };
    const ended = await collect().then(
      () => "made",
      (error: { code?: string }) => error.code,
    );
    const steps = events.filter((event) => event.type === "progress" && event.stage === "steps");
    const saved = files.get("checkpoint");
    expect(ended).toBe(saved === undefined ? "made" : "preempted");
    return saved === undefined
      ? { steps: steps.length, frames: await frameHash(files.get("content") ?? "") }
      : { steps: steps.length, checkpoint: await readFile(saved) };
  }

  const reaches = (stage: string, share: number) => (event: PipelineEvent) =>
    event.type === "progress" && event.stage === stage && event.fraction >= share;

  test("is gone on with from the step it stood at, and has the same frames", async () => {
    const whole = await run(() => false);
    const first = await run(reaches("steps", 0.15));
    expect(first.steps).toBeGreaterThan(1);
    expect(first.steps).toBeLessThan(whole.steps);
    const second = await run(() => false, first.checkpoint);
    expect(first.steps + second.steps - whole.steps).toBeLessThanOrEqual(1);
    expect(second.frames).toBe(whole.frames);

    const late = await run(reaches("frames", 0.6));
    expect(late.steps).toBe(whole.steps);
    const last = await run(() => false, late.checkpoint);
    expect(last.steps).toBe(0);
    expect(last.frames).toBe(whole.frames);
  });

  test("does not wait for the one before it, which has the frames it has alone", async () => {
    let decodes = (): void => {};
    const decoding = new Promise<void>((resolve) => (decodes = resolve));
    const before = run((event) => {
      if (reaches("frames", 0)(event)) decodes();
      return false;
    });
    await decoding;
    const behind = await run(reaches("waiting", 0));
    expect(behind.frames).toBeUndefined();
    const after = await run(() => false, behind.checkpoint);
    expect(after.steps).toBe(0);
    expect(after.frames).toBe((await before).frames);
  });
});
