import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { writeWav } from "#framemill/media/pcm.js";

let folder: string;
beforeAll(async () => void (folder = await mkdtemp(join(tmpdir(), "framemill-wav-"))));
afterAll(() => rm(folder, { recursive: true }));

describe("a WAV file", () => {
  it("holds planar channels interleaved, float samples bit for bit", async () => {
    const path = join(folder, "stereo.wav");
    const left = [0, 0.1, -1];
    const right = [1e-7, 1, -0.333];
    const samples = Float32Array.from([...left, ...right]);
    await writeWav(path, samples, { channels: 2, sampleRateHz: 48_000 });
    const bytes = await readFile(path);
    const data = new Float32Array(bytes.subarray(44).buffer.slice(bytes.byteOffset + 44));
    expect([...data.subarray(0, 6)]).toEqual([0, 1e-7, 0.1, 1, -1, -0.333].map(Math.fround));
    expect(bytes.readUInt32LE(24)).toBe(48_000);
    expect(bytes.readUInt32LE(40)).toBe(24);
    expect(bytes.readUInt32LE(4)).toBe(bytes.byteLength - 8);
  });
});
