import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { PipelineEvent } from "#framemill/core/events.js";
import type { Pipeline } from "#framemill/core/modality.js";
import { probeMedia } from "#framemill/media/probe.js";
import type { MusicOutput, MusicRequest } from "#framemill/modalities/music/request.js";
import { createMusicPipeline } from "#framemill/modalities/music/pipeline.js";

const modelPath = fileURLToPath(new URL("../../../models/service-music-1", import.meta.url));
const programs = { ffmpegPath: "ffmpeg", ffprobePath: "ffprobe", espeakPath: "espeak-ng" };

let pipeline: Pipeline<MusicRequest, MusicOutput>;
let scratchPath: string;

const request = (changes: Partial<MusicRequest> = {}): MusicRequest => ({
  model: "service-music-1",
  prompt: "piano and bass in D major at 120 bpm",
  lyrics: null,
  instrumental: true,
  seconds: 3,
  format: "wav",
  seed: 7,
  metadata: null,
  ...changes,
});

async function run(asked: MusicRequest, controller = new AbortController()) {
  const { signal } = controller;
  const events: PipelineEvent<MusicOutput>[] = [];
  const readInput = () => Promise.resolve(new Uint8Array());
  for await (const event of pipeline.run(asked, { signal, scratchPath, readInput }))
    events.push(event);
  return events;
}

async function fileOf(asked: MusicRequest): Promise<string> {
  const file = (await run(asked)).find((event) => event.type === "file");
  return file?.path ?? "";
}

describe("service-music-1", () => {
  beforeAll(async () => {
    scratchPath = await mkdtemp(join(tmpdir(), "framemill-music-"));
    pipeline = await createMusicPipeline({ modelPath, threads: 2, ...programs });
  });

  afterAll(async () => {
    await pipeline.close();
    await rm(scratchPath, { recursive: true, force: true });
  });

  test.each(["wav", "mp3", "flac", "opus"] as const)(
    "makes stereo as long as asked for, as %s",
    async (format) => {
      const path = await fileOf(request({ format, seconds: 2 }));
      const { audio, durationSeconds } = await probeMedia(path, programs);
      expect(audio).toMatchObject({
        channels: 2,
        sampleRateHz: format === "opus" ? 48_000 : 44_100,
      });
      expect(durationSeconds).toBeCloseTo(2, 0);
    },
  );

  test("makes the same bytes of a seed, and others of another", async () => {
    const one = await readFile(await fileOf(request()));
    const same = await readFile(await fileOf(request()));
    const other = await readFile(await fileOf(request({ seed: 8 })));
    expect(one.equals(same)).toBe(true);
    expect(one.equals(other)).toBe(false);
  });

  test("makes one chord where there is no time for more", async () => {
    const events = await run(request({ seconds: 1 }));
    expect(events.at(-1)).toEqual({ type: "output", output: { audioSeconds: 1 } });
  });

  test("tells its progress, which only grows", async () => {
    const events = await run(request());
    const steps = events.flatMap((event) => (event.type === "progress" ? [event] : []));
    const fractions = steps.map(({ fraction }) => fraction);
    expect(fractions).toEqual(fractions.toSorted((a, b) => a - b));
    expect([...new Set(steps.map(({ stage }) => stage))]).toEqual([
      "steps",
      "decoding",
      "encoding",
      "checking",
    ]);
  });

  test("stops in the midst of its steps when cancelled", async () => {
    const controller = new AbortController();
    const { signal } = controller;
    const readInput = () => Promise.resolve(new Uint8Array());
    const iterate = async () => {
      const events = pipeline.run(request({ seconds: 60 }), { signal, scratchPath, readInput });
      for await (const event of events)
        if (event.type === "progress" && event.fraction > 0.05) controller.abort();
    };
    await expect(iterate()).rejects.toThrow("aborted");
  });
});
