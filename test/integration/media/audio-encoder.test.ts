import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { AudioFormat } from "#framemill/core/audio-format.js";
import {
  type AudioEncoderOptions,
  openAudioEncoder,
  writeAudioFile,
} from "#framemill/media/audio-encoder.js";
import { ownFileInput, runFfmpeg, stretchTime } from "#framemill/media/ffmpeg.js";
import { probeMedia } from "#framemill/media/probe.js";
import { toPcm16 } from "#framemill/media/pcm.js";

const COMPRESSED = [
  { format: "mp3", codec: "mp3", sampleRateHz: 24_000, rateHz: 24_000, frame: 576 },
  { format: "aac", codec: "aac", sampleRateHz: 22_050, rateHz: 22_050, frame: 1_024 },
  { format: "opus", codec: "opus", sampleRateHz: 24_000, rateHz: 48_000, frame: 960 },
  { format: "flac", codec: "flac", sampleRateHz: 24_000, rateHz: 24_000, frame: 4_608 },
] as const;

let folder: string;
beforeAll(async () => void (folder = await mkdtemp(join(tmpdir(), "framemill-sound-"))));
afterAll(() => rm(folder, { recursive: true }));

/** A 440 Hz sine at -10 dBFS, the second channel at 660 Hz; planar. */
function tone(seconds: number, sampleRateHz: number, channels = 1): Float32Array {
  const length = Math.round(seconds * sampleRateHz);
  const samples = new Float32Array(channels * length);
  for (let index = 0; index < samples.length; index += 1) {
    const hz = index < length ? 440 : 660;
    samples[index] = 0.316 * Math.sin((2 * Math.PI * hz * (index % length)) / sampleRateHz);
  }
  return samples;
}

async function encodeStream(
  pieces: readonly Float32Array[],
  options: AudioEncoderOptions,
): Promise<Buffer> {
  const encoder = openAudioEncoder(options);
  const write = async () => {
    for (const piece of pieces) await encoder.write(piece);
    await encoder.finish();
  };
  const chunks: Uint8Array[] = [];
  const read = async () => {
    for await (const chunk of encoder.bytes) chunks.push(chunk);
  };
  await Promise.all([write(), read()]);
  await encoder.abort();
  return Buffer.concat(chunks);
}

async function decode(path: string, channels = 1): Promise<Float32Array> {
  const target = ["-f", "f32le", "-ac", String(channels), "-"];
  const { stdout } = await runFfmpeg(["-v", "error", ...ownFileInput(path), ...target]);
  return new Float32Array(
    stdout.buffer.slice(stdout.byteOffset, stdout.byteOffset + stdout.length),
  );
}

describe("sound encoded while it is made", () => {
  it.each(COMPRESSED)("streams $format of the right codec, rate and length", async (expected) => {
    const { format, sampleRateHz } = expected;
    const piece = tone(1.5, sampleRateHz);
    const bytes = await encodeStream([piece, piece], { format, sampleRateHz, channels: 1 });
    const path = join(folder, `streamed.${format}`);
    await writeFile(path, bytes);
    const { audio } = await probeMedia(path);
    expect(audio).toMatchObject({
      codec: expected.codec,
      sampleRateHz: expected.rateHz,
      channels: 1,
    });
    const samples = await decode(path);
    // Without a header that is written last, MP3 and AAC cannot say their encoder's delay: up to 3 frames.
    expect(samples.length / expected.rateHz).toBeGreaterThanOrEqual(3);
    expect(samples.length / expected.rateHz - 3).toBeLessThanOrEqual(
      (3 * expected.frame) / expected.rateHz,
    );
    expect(Math.max(...samples.subarray(4_800, 24_000))).toBeCloseTo(0.316, 1);
  });

  it.each(COMPRESSED)("writes a $format file that says its true length", async (expected) => {
    const { format, sampleRateHz } = expected;
    const path = join(folder, `whole.${format}`);
    await writeAudioFile(path, tone(2, sampleRateHz, 2), { format, sampleRateHz, channels: 2 });
    const info = await probeMedia(path);
    expect(info.audio).toMatchObject({ codec: expected.codec, channels: 2 });
    const seconds = (await decode(path, 2)).length / 2 / expected.rateHz;
    expect(Math.abs(seconds - 2)).toBeLessThanOrEqual((2 * expected.frame) / expected.rateHz);
    // ADTS has no header, so a reader can only guess; an MP3 header counts whole frames.
    const tolerance = format === "aac" ? 0.5 : 0.065;
    expect(Math.abs(info.durationSeconds - 2)).toBeLessThanOrEqual(tolerance);
  });

  it("lets most of what was written out before the rest is known", async () => {
    const encoder = openAudioEncoder({ format: "mp3", sampleRateHz: 24_000, channels: 1 });
    const reader = encoder.bytes[Symbol.asyncIterator]();
    await encoder.write(tone(2, 24_000));
    let byteLength = 0;
    // 2 s at 96 kbit/s are 24 000 bytes; the encoder may keep 0.25 s to itself.
    while (byteLength < 21_000) byteLength += (await reader.next()).value?.byteLength ?? Number.NaN;
    expect(byteLength).toBeGreaterThanOrEqual(21_000);
    await encoder.abort();
  });

  it("streams wav and pcm sample by sample, and clips what is too loud", async () => {
    const samples = Float32Array.of(0, 0.5, -0.5, 1, -1, 1.7, -3, Number.NaN);
    const wav = await encodeStream([samples, samples], {
      format: "wav",
      sampleRateHz: 22_050,
      channels: 1,
    });
    const words = Array.from({ length: 8 }, (_, index) => wav.readInt16LE(44 + 2 * index));
    expect(words).toEqual([0, 16_384, -16_383, 32_767, -32_767, 32_767, -32_767, 0]);
    expect(wav.readUInt32LE(4)).toBe(0xff_ff_ff_ff);
    expect(wav.readUInt32LE(40)).toBe(0xff_ff_ff_ff);
    const pcm = await encodeStream([samples], { format: "pcm", sampleRateHz: 24_000, channels: 1 });
    expect(pcm).toEqual(wav.subarray(44, 60));
    const path = join(folder, "streamed.wav");
    await writeFile(path, wav);
    expect((await probeMedia(path)).audio).toMatchObject({
      codec: "pcm_s16le",
      sampleRateHz: 22_050,
    });
  });

  it("writes a wav file with its true length, channels interleaved", async () => {
    const path = join(folder, "whole.wav");
    const samples = Float32Array.of(0, 0.25, 0.5, -1, -0.5, -0.25);
    await writeAudioFile(path, samples, { format: "wav", sampleRateHz: 32_000, channels: 2 });
    const bytes = await readFile(path);
    expect(bytes.readUInt32LE(40)).toBe(12);
    expect(bytes.readUInt32LE(4)).toBe(bytes.byteLength - 8);
    expect(bytes.subarray(44, 44 + 12)).toEqual(
      Buffer.from(toPcm16(Float32Array.of(0, -1, 0.25, -0.5, 0.5, -0.25))),
    );
  });

  it("brings pcm of any model to 24 kHz", async () => {
    const bytes = await encodeStream([tone(1, 16_000)], {
      format: "pcm",
      sampleRateHz: 16_000,
      channels: 1,
    });
    expect(Math.abs(bytes.byteLength / 2 - 24_000)).toBeLessThanOrEqual(64);
  });

  it.each(["mp3", "wav"] as const)(
    "stops writing and reading %s when cancelled",
    async (format: AudioFormat) => {
      const abort = new AbortController();
      const options = { format, sampleRateHz: 24_000, channels: 1, signal: abort.signal } as const;
      const encoder = openAudioEncoder(options);
      const endless = (async () => {
        for (;;) await encoder.write(tone(1, 24_000));
      })();
      const reading = (async () => {
        for await (const chunk of encoder.bytes) if (chunk.byteLength > 0) abort.abort();
      })();
      const cancelled = { code: "cancelled" };
      await Promise.all([
        expect(endless).rejects.toMatchObject(cancelled),
        expect(reading).rejects.toMatchObject(cancelled),
      ]);
      await encoder.abort();
    },
  );

  it("says why ffmpeg failed", async () => {
    const options = {
      format: "mp3",
      sampleRateHz: 24_000,
      channels: 1,
      ffmpegPath: "/bin/false",
    } as const;
    await expect(encodeStream([tone(1, 24_000)], options)).rejects.toMatchObject({
      code: "encoder_failed",
      message: expect.stringContaining("exit code 1"),
    });
  });
});

describe("sound at another tempo", () => {
  it.each([0.25, 0.8, 1.5, 4])(
    "lasts as long as tempo %f says, at the same pitch",
    async (tempo) => {
      const samples = tone(4, 24_000);
      const options = { tempo, sampleRateHz: 24_000, ffmpegPath: "ffmpeg" };
      const stretched = await stretchTime(samples, options);
      expect(Math.abs((stretched.length * tempo) / samples.length - 1)).toBeLessThan(0.02);
      const crossings = (sound: Float32Array) =>
        sound.filter((sample, index) => sample >= 0 && (sound[index - 1] ?? 0) < 0).length;
      const pitchHz = (crossings(stretched) / stretched.length) * 24_000;
      expect(Math.abs(pitchHz / 440 - 1)).toBeLessThan(0.02);
    },
  );
});
