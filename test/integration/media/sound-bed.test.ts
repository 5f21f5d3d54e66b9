import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { runFfmpeg } from "#framemill/media/ffmpeg.js";
import { writeWav } from "#framemill/media/pcm.js";
import { openSoundBed } from "#framemill/media/sound-bed.js";

const RATE_HZ = 48_000;

let folder: string;
beforeAll(async () => void (folder = await mkdtemp(join(tmpdir(), "framemill-bed-"))));
afterAll(() => rm(folder, { recursive: true }));

/** A file of noise in stereo: no stretch of it is like another. */
async function makeNoise(name: string, seconds: number): Promise<string> {
  const path = join(folder, name);
  const source = ["-f", "lavfi", "-i", `anoisesrc=d=${seconds}:r=${RATE_HZ}:a=0.5:seed=3`];
  await runFfmpeg(["-v", "error", "-y", ...source, "-ac", "2", path]);
  return path;
}

/** Left channel of a stretch of a bed. */
async function stretchOf(bed: string, seconds: number, place: number): Promise<Float32Array> {
  const path = join(folder, "stretch.wav");
  await (await openSoundBed(bed, "ffmpeg")).write(path, { seconds, place });
  const bytes = await readFile(path);
  const samples = new Float32Array(bytes.buffer.slice(bytes.byteOffset + 44));
  return samples.filter((_, index) => index % 2 === 0);
}

function levelOf(samples: Float32Array): number {
  return Math.sqrt(samples.reduce((sum, sample) => sum + sample ** 2, 0) / samples.length);
}

test("a long bed gives a piece of itself, as its place says, faded at both ends", async () => {
  const path = join(folder, "ramp.wav");
  const frames = 8 * RATE_HZ;
  const ramp = Float32Array.from({ length: 2 * frames }, (_, index) => (index % frames) / frames);
  await writeWav(path, ramp, { channels: 2, sampleRateHz: RATE_HZ });
  const stretch = await stretchOf(path, 4, 0.5);
  expect(stretch).toHaveLength(4 * RATE_HZ);
  expect([stretch[0], stretch.at(-1)]).toEqual([0, 0]);
  // It begins at 2 s: the place is a share of the 4 s by which the bed is longer.
  expect(stretch[2 * RATE_HZ]).toBeCloseTo(4 / 8, 4);
});

test("a short bed goes on from its beginning without a gap, and as loud there as elsewhere", async () => {
  const path = await makeNoise("short.flac", 3);
  const stretch = await stretchOf(path, 10, 0.9);
  const tenth = RATE_HZ / 10;
  const levels = Array.from({ length: 90 }, (_, index) =>
    levelOf(stretch.subarray((index + 2) * tenth, (index + 3) * tenth)),
  );
  const level = levelOf(stretch.subarray(RATE_HZ, 9 * RATE_HZ));
  expect(Math.min(...levels) / level).toBeGreaterThan(0.9);
  expect(Math.max(...levels) / level).toBeLessThan(1.1);
});

test("says which file is no bed, and why", async () => {
  const text = join(folder, "text.wav");
  await writeFile(text, "no sound");
  await expect(openSoundBed(text, "ffmpeg")).rejects.toThrow("text.wav could not be read as sound");
  const [brief, long] = [await makeNoise("brief.mp3", 1), await makeNoise("long.ogg", 130)];
  const range = "must be 2 to 120 s of sound, got";
  await expect(openSoundBed(brief, "ffmpeg")).rejects.toThrow(`brief.mp3 ${range} 1.0`);
  await expect(openSoundBed(long, "ffmpeg")).rejects.toThrow(`long.ogg ${range} more`);
});
