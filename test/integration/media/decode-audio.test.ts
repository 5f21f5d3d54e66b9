import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { decodeAudio, type DecodeAudio } from "#framemill/media/decode-audio.js";
import { runFfmpeg } from "#framemill/media/ffmpeg.js";
import { openPcm } from "#framemill/media/pcm-file.js";
import { describeWithModels, publishedModel } from "../../support/published-models.js";

let folder: string;
beforeAll(async () => void (folder = await mkdtemp(join(tmpdir(), "framemill-decode-"))));
afterAll(() => rm(folder, { recursive: true }));

async function decode(bytes: Uint8Array, options: Partial<DecodeAudio> = {}) {
  const path = join(folder, "sound.pcm");
  const { signal } = new AbortController();
  const own = { path, sampleRateHz: 16_000, maxSeconds: 60, signal, param: "file" };
  const count = await decodeAudio(bytes, { ...own, ...options });
  const pcm = await openPcm(path);
  const samples = await pcm.read(0, count);
  await pcm.close();
  return samples;
}

/** Three seconds whose pitch rises from 200 Hz to 3.8 kHz, beside a test picture where there is room. */
const SWEEP = "aevalsrc=0.4*sin(2*PI*(200*t+600*t*t)):s=48000:d=3";

async function make(name: string, ...args: string[]): Promise<Uint8Array> {
  const path = join(folder, name);
  await runFfmpeg(["-v", "error", "-y", "-f", "lavfi", "-i", SWEEP, ...args, path]);
  return readFile(path);
}

/** Greatest correlation of a quarter second within 70 ms, and the difference of loudness in decibels. */
function compare(got: Float32Array, wanted: Float32Array) {
  const middle = wanted.subarray(16_000, 20_000);
  let correlation = 0;
  for (let shift = -1_120; shift <= 1_120; shift++) {
    const other = got.subarray(16_000 + shift, 20_000 + shift);
    const scale = Math.sqrt(product(middle, middle) * product(other, other));
    correlation = Math.max(correlation, product(middle, other) / scale);
  }
  return { correlation, decibels: 10 * Math.log10(product(got, got) / product(wanted, wanted)) };
}

function product(one: Float32Array, other: Float32Array): number {
  let sum = 0;
  for (let at = 0; at < one.length; at++) sum += (one[at] ?? 0) * (other[at] ?? 0);
  return sum;
}

describe("decoding an upload", () => {
  let reference: Promise<Float32Array> | undefined;
  const picture = ["-f", "lavfi", "-i", "testsrc=d=3:s=64x64:r=25"];
  test.each([
    ["mp3", "a.mp3", []],
    ["flac", "a.flac", ["-ar", "44100", "-af", "pan=stereo|c0=c0|c1=c0"]],
    ["ogg vorbis", "a.ogg", ["-c:a", "libvorbis"]],
    ["opus", "a.opus", []],
    ["webm", "a.webm", ["-c:a", "libopus"]],
    ["aac", "a.aac", []],
    ["mpga (layer II)", "a.mp2", []],
    ["m4a, its index last", "a.m4a", []],
    ["mp4 with a picture, its index last", "b.mp4", [...picture, "-c:v", "mpeg4"]],
    ["mp4 in fragments", "c.mp4", ["-movflags", "frag_keyframe+empty_moov"]],
    ["mov of plain samples", "a.mov", ["-c:a", "pcm_s24be"]],
    ["mpeg with a picture", "a.mpg", picture],
    ["float wav", "a.wav", ["-c:a", "pcm_f32le"]],
  ])("reads %s like the wav it was made of", async (_format, name, args) => {
    reference ??= decode(await make("reference.wav"));
    const wav = await reference;
    expect(wav.length).toBe(48_000);
    const { correlation, decibels } = compare(await decode(await make(name, ...args)), wav);
    expect(correlation).toBeGreaterThan(0.95);
    expect(Math.abs(decibels)).toBeLessThan(0.6);
  });

  test("refuses what is no sound, whatever it pretends to be", async () => {
    const wav = Buffer.from(await make("short.wav", "-bitexact"));
    const id3 = Buffer.concat([Buffer.from("ID3\x04\0\0\0\0\0\x0a", "latin1"), Buffer.alloc(10)]);
    const playlist = Buffer.from("#EXTM3U\n#EXTINF:1,\nfile:///etc/passwd\n");
    const refused: [Uint8Array, RegExp][] = [
      [Buffer.alloc(0), /must not be empty/],
      [playlist, /must be a sound file: wav, mp3, flac/],
      [Buffer.from("ffconcat version 1.0\nfile /etc/passwd\n"), /must be a sound file/],
      [Buffer.concat([id3, playlist]), /could not be decoded as mp3/],
      [wav.subarray(0, 44), /holds no sound/],
      [(await make("cut.m4a")).subarray(0, 2_000), /could not be decoded as mp4/],
    ];
    for (const [bytes, message] of refused) {
      const refusal = await decode(bytes).catch((thrown: unknown) => thrown);
      expect(refusal).toMatchObject({ code: "invalid_value", param: "file" });
      expect(String(refusal)).toMatch(message);
    }
  });

  test("refuses a film without sound", async () => {
    const film = await make("mute.mp4", "-f", "lavfi", "-i", "testsrc=d=1", "-map", "1:v");
    await expect(decode(film)).rejects.toThrow("file has no sound track");
  });

  test("stops at the longest sound it may read, at the wall time and when it is cancelled", async () => {
    const wav = await make("long.wav");
    await expect(decode(wav, { maxSeconds: 2 })).rejects.toThrow("at most 2 s of sound");
    await expect(decode(wav, { timeoutMs: 1 })).rejects.toMatchObject({ param: "file" });
    const cancelled = decode(wav, { signal: AbortSignal.abort() });
    await expect(cancelled).rejects.toMatchObject({ code: "cancelled" });
  });

  test("does not blame the caller where ffmpeg does not run", async () => {
    const failing = decode(await make("fine.wav"), { ffmpegPath: "/nowhere/ffmpeg" });
    await expect(failing).rejects.toMatchObject({ code: "encoder_failed" });
  });
});

describeWithModels("decoding real speech", () => {
  test("gives the same signal from wav and mp3, and mixes stereo at 44.1 kHz down", async () => {
    const speech = (name: string) => readFile(publishedModel("asr-fixtures", name)).then(decode);
    const wav = await speech("1272-141231-0002.wav");
    const { correlation, decibels } = compare(await speech("1272-141231-0002.mp3"), wav);
    expect(correlation).toBeGreaterThan(0.95);
    expect(Math.abs(decibels)).toBeLessThan(0.2);
    expect((await speech("jfk.flac")).length).toBe(11 * 16_000);
  });
});
