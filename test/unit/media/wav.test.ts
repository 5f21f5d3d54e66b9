import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  decodeWav,
  encodeWav,
  interleave,
  openWav,
  parseWavHeader,
  wavHeader,
  writeWav,
} from "#framemill/media/wav.js";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

const stereo = { sampleRateHz: 48_000, channels: 2 };
let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "framemill-wav-"));
});
afterAll(() => rm(folder, { recursive: true }));

describe("WAV", () => {
  it("gives float samples back bit for bit", () => {
    const samples = Float32Array.from([0, 0.1, -1, 1, 1e-7, -0.333]);
    const decoded = decodeWav(encodeWav(samples, { ...stereo, sampleFormat: "float32" }));
    expect(decoded).toEqual({ ...stereo, sampleFormat: "float32", samples });
  });

  it("clips and rounds to 16 bits", () => {
    const bytes = encodeWav(Float32Array.from([0, 0.5, 2, -2]), { ...stereo, sampleFormat: "s16" });
    const { samples } = decodeWav(bytes);
    expect([...samples].map((sample) => sample * 32_768)).toEqual([0, 16_384, 32_767, -32_767]);
  });

  it("grows piece by piece and is the same file as one written at once", async () => {
    const pieces = [Float32Array.of(0.25, -0.25), Float32Array.of(0.5, -0.5, 1, -1)];
    const path = join(folder, "pieces.wav");
    const writer = await openWav(path, { ...stereo, sampleFormat: "float32" });
    for (const piece of pieces) await writer.write(piece);
    await writer.close();
    await writer.close();
    const whole = Float32Array.of(0.25, -0.25, 0.5, -0.5, 1, -1);
    expect(
      (await readFile(path)).equals(encodeWav(whole, { ...stereo, sampleFormat: "float32" })),
    ).toBe(true);
  });

  it("interleaves planar channels", async () => {
    expect([...interleave([Float32Array.of(1, 2), Float32Array.of(3, 4)])]).toEqual([1, 3, 2, 4]);
    const path = join(folder, "planar.wav");
    await writeWav(path, Float32Array.of(1, 2, 3, 4), { ...stereo, layout: "planar" });
    expect([...decodeWav(await readFile(path)).samples]).toEqual([1, 3, 2, 4]);
  });

  it("finds the samples behind chunks it does not know, and stops at the end of a file cut short", () => {
    const header = Buffer.from(wavHeader({ ...stereo, sampleFormat: "s16" }, 400));
    const list = Buffer.from("LIST\x01\0\0\0a\0", "latin1");
    const file = Buffer.concat([
      header.subarray(0, 36),
      list,
      header.subarray(36),
      Buffer.alloc(100),
    ]);
    expect(parseWavHeader(file)).toMatchObject({
      dataOffset: 54,
      dataByteLength: 100,
      sampleRateHz: 48_000,
    });
    expect(decodeWav(file).samples).toHaveLength(50);
  });

  it.each([
    ["no RIFF", Buffer.alloc(64), "RIFF … WAVE is missing"],
    [
      "no data",
      Buffer.from(wavHeader({ ...stereo, sampleFormat: "s16" }, 0)).subarray(0, 36),
      "data chunk is missing",
    ],
    [
      "24 bits",
      Buffer.from(wavHeader({ ...stereo, sampleFormat: "s16" })).fill(24, 34, 35),
      "format 1 with 24 bits",
    ],
  ])("refuses a file with %s", (_, bytes, sentence) => {
    expect(() => parseWavHeader(bytes)).toThrow(sentence);
  });
});
