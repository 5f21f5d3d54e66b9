import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { decodeAudio, type DecodeAudio } from "#framemill/media/decode-audio.js";
import { runFfmpeg } from "#framemill/media/ffmpeg.js";
import { openPcm } from "#framemill/media/pcm.js";
import { correlate } from "../../support/compare-sounds.js";

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
    const { correlation, decibels } = correlate(await decode(await make(name, ...args)), wav);
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
    const endless = join(folder, "endless");
    await writeFile(endless, "#!/bin/sh\nexec tail -f /dev/null\n", { mode: 0o755 });
    const decoding = decode(wav, { timeoutMs: 1, ffmpegPath: endless });
    await expect(decoding).rejects.toThrow("file took more than 0.001 s to decode");
    const cancelled = decode(wav, { signal: AbortSignal.abort() });
    await expect(cancelled).rejects.toMatchObject({ code: "cancelled" });
  });

  test("does not blame the caller where ffmpeg does not run", async () => {
    const failing = decode(await make("fine.wav"), { ffmpegPath: "/nowhere/ffmpeg" });
    await expect(failing).rejects.toMatchObject({ code: "encoder_failed" });
  });
});
