import { writeFile } from "node:fs/promises";
import { PassThrough, type Readable, type Writable } from "node:stream";
import { setTimeout as delay } from "node:timers/promises";
import { type AudioFormat, PCM_RATE_HZ } from "../core/audio-format.js";
import { JobError, toJobError } from "../core/errors.js";
import { SOURCE_TYPES } from "../core/source-type.js";
import { encodingError, runFfmpeg, throwIfCancelled } from "./ffmpeg.js";
import { describeExit, startProcessGroup } from "./process-group.js";
import { interleave, toPcm16, wavHeader } from "./pcm.js";

/** ffmpeg writes frame by frame, 300 bytes at a time: what comes within this time goes on together. */
const GATHERING_MS = 10;

export interface AudioEncoderOptions extends AudioSource {
  /** Default `ffmpeg` from the search path. */
  readonly ffmpegPath?: string;
  /** Kills ffmpeg when it aborts; `write` and `bytes` then throw. */
  readonly signal?: AbortSignal;
}

/** Sound encoded while it is made. Whoever opens it calls `abort` in `finally`. */
export interface AudioEncoder {
  /**
   * Planar samples [channels, time], float32; beyond [-1, 1] they are clipped. Resolves when they are
   * taken, which needs a reader of `bytes` at the same time once the pipes between are full.
   */
  write(samples: Float32Array): Promise<void>;
  /** No more samples: `bytes` ends after what is still to come. */
  finish(): Promise<void>;
  /** The encoded file as it grows; to be read once. Throws `encoder_failed` where it is not whole. */
  readonly bytes: AsyncIterable<Uint8Array>;
  /** Kills ffmpeg with its process group; nothing once `bytes` has ended. */
  abort(): Promise<void>;
}

/** `wav` and 24 kHz `pcm` come without ffmpeg, bit for bit what was written, rounded to 16 bits. */
export function openAudioEncoder(options: AudioEncoderOptions): AudioEncoder {
  checkSource(options);
  throwIfCancelled(options.signal);
  return isPlainPcm(options) ? openPcmEncoder(options) : openFfmpegEncoder(options);
}

/**
 * Writes planar samples [channels, time], float32, as one file: WAV, FLAC and MP3 then say their true
 * length. Throws `encoder_failed`.
 */
export async function writeAudioFile(
  path: string,
  samples: Float32Array,
  options: AudioEncoderOptions,
): Promise<void> {
  checkSource(options);
  throwIfCancelled(options.signal);
  const interleaved = interleave(samples, options.channels);
  if (isPlainPcm(options)) {
    const data = toPcm16(interleaved);
    const file = options.format === "wav" ? taggedWav(options, data) : data;
    await writeFile(path, file);
    return;
  }
  const { ffmpegPath, signal } = options;
  const run = { stdin: bytesOf(interleaved), ...(ffmpegPath && { ffmpegPath }) };
  await runFfmpeg(fileArguments(options, path), { ...run, ...(signal && { signal }) });
}

/** With a comment (`ICMT`) behind its samples, where no reader looks for them. */
function taggedWav(format: AudioSource, data: Uint8Array): Buffer {
  const text = Buffer.from(`${SOURCE_TYPES.generated}\0`, "latin1");
  const padding = Buffer.alloc(text.byteLength % 2);
  const comment = [Buffer.from("INFOICMT", "latin1"), uint32(text.byteLength), text, padding];
  const info = Buffer.concat(comment);
  const list = [Buffer.from("LIST", "latin1"), uint32(info.byteLength), info];
  const file = Buffer.concat([wavHeader(format, "int16", data.byteLength), data, ...list]);
  file.writeUInt32LE(file.byteLength - 8, 4);
  return file;
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
}

function checkSource({ sampleRateHz, channels }: AudioSource): void {
  if (Number.isInteger(sampleRateHz) && sampleRateHz >= 1_000 && (channels === 1 || channels === 2))
    return;
  const message = `sound must have 1 or 2 channels at 1000 Hz or more, got ${channels} at ${sampleRateHz} Hz`;
  throw new JobError("encoder_failed", message);
}

function openPcmEncoder(options: AudioEncoderOptions): AudioEncoder {
  const { signal, channels } = options;
  const stream = new PassThrough();
  const cancel = () => stream.destroy();
  signal?.addEventListener("abort", cancel, { once: true });
  stream.once("close", () => signal?.removeEventListener("abort", cancel));
  const failure = async () => cancelledOr(signal, "the encoder was closed early");
  if (options.format === "wav") stream.write(wavHeader(options, "int16", undefined));
  return {
    write: (samples) => writeAll(stream, toPcm16(interleave(samples, channels)), failure),
    finish: () => end(stream, failure),
    bytes: readAll(stream, failure),
    async abort() {
      stream.destroy();
    },
  };
}

function openFfmpegEncoder(options: AudioEncoderOptions): AudioEncoder {
  const { signal, channels, ffmpegPath = "ffmpeg" } = options;
  const group = startProcessGroup(ffmpegPath, streamArguments(options), { signal });
  const { stdin, stdout } = group.child;
  const failure = async () => {
    stdout.resume();
    const exit = await group.exited;
    return cancelledOr(signal, `ffmpeg: ${describeExit(exit, group.stderrTail())}`);
  };
  return {
    write: (samples) => writeAll(stdin, bytesOf(interleave(samples, channels)), failure),
    finish: () => end(stdin, failure),
    bytes: readAll(stdout, failure, async () => (await group.exited).code === 0),
    async abort() {
      group.kill();
      stdout.destroy();
      await group.exited;
    },
  };
}

type Failure = () => Promise<JobError>;

async function writeAll(stream: Writable, bytes: Uint8Array, failure: Failure): Promise<void> {
  const isTaken = await new Promise<boolean>((resolve) => {
    // A destroyed stream forgets the callback of the write that it holds.
    const closed = () => resolve(false);
    stream.once("close", closed);
    stream.write(bytes, (error) => {
      stream.off("close", closed);
      resolve(!error);
    });
  });
  if (!isTaken) throw await failure();
}

async function end(stream: Writable, failure: Failure): Promise<void> {
  if (stream.destroyed) throw await failure();
  stream.end();
}

async function* readAll(
  stream: Readable,
  failure: Failure,
  isWhole: () => Promise<boolean> = async () => true,
): AsyncGenerator<Uint8Array> {
  try {
    for await (const chunk of stream) {
      yield chunk;
      await delay(GATHERING_MS);
    }
  } catch {
    throw await failure();
  }
  if (!(await isWhole())) throw await failure();
}

function cancelledOr(signal: AbortSignal | undefined, message: string): JobError {
  try {
    throwIfCancelled(signal);
  } catch (thrown) {
    return toJobError(thrown);
  }
  return encodingError(message);
}

function bytesOf({ buffer, byteOffset, byteLength }: Float32Array): Uint8Array {
  return new Uint8Array(buffer, byteOffset, byteLength);
}

export interface AudioSource {
  readonly format: AudioFormat;
  /** Of the samples that are written. */
  readonly sampleRateHz: number;
  readonly channels: number;
}

interface Codec {
  readonly encoder: readonly string[];
  /** Bits a second for one channel and for two. */
  readonly bitrates?: readonly [mono: string, stereo: string];
  readonly muxer: readonly string[];
  /** Muxer options where the output cannot be rewound to write what only the end knows. */
  readonly streamed?: readonly string[];
}

const CODECS: Readonly<Record<Exclude<AudioFormat, "wav">, Codec>> = {
  mp3: {
    encoder: ["-c:a", "libmp3lame"],
    bitrates: ["96k", "192k"],
    muxer: ["-f", "mp3"],
    streamed: ["-write_xing", "0"],
  },
  opus: {
    encoder: ["-c:a", "libopus", "-ar", "48000"],
    bitrates: ["64k", "128k"],
    muxer: ["-f", "ogg"],
    // Pages of 0.1 s instead of 1 s: a listener hears what has been said.
    streamed: ["-page_duration", "100000"],
  },
  aac: { encoder: ["-c:a", "aac"], bitrates: ["96k", "192k"], muxer: ["-f", "adts"] },
  flac: { encoder: ["-c:a", "flac", "-sample_fmt", "s16"], muxer: ["-f", "flac"] },
  pcm: { encoder: ["-c:a", "pcm_s16le", "-ar", String(PCM_RATE_HZ)], muxer: ["-f", "s16le"] },
};

/** ffmpeg's argument list: interleaved float32 samples on standard input, encoded to standard output. */
function streamArguments(source: AudioSource): string[] {
  return [
    ...inputArguments(source),
    ...outputArguments(source, true),
    "-flush_packets",
    "1",
    "pipe:1",
  ];
}

/** The same into a file, with its true length in the header where the format has a place for it. */
function fileArguments(source: AudioSource, path: string): string[] {
  return [...inputArguments(source), ...outputArguments(source, false), "-y", `file:${path}`];
}

/** Whether the samples need no more than rounding. */
function isPlainPcm({ format, sampleRateHz }: AudioSource): boolean {
  return format === "wav" || (format === "pcm" && sampleRateHz === PCM_RATE_HZ);
}

function inputArguments({ sampleRateHz, channels }: AudioSource): string[] {
  const raw = ["-f", "f32le", "-ar", String(sampleRateHz), "-ac", String(channels)];
  // Raw samples need no probing: without these, the first second waits inside ffmpeg.
  const eager = ["-probesize", "32", "-analyzeduration", "0"];
  return ["-v", "error", "-nostdin", ...eager, ...raw, "-i", "pipe:0", "-map_metadata", "-1"];
}

function outputArguments({ format, channels }: AudioSource, isStream: boolean): string[] {
  if (format === "wav") throw new TypeError("wav is written without ffmpeg");
  const { encoder, bitrates, muxer, streamed = [] } = CODECS[format];
  const bitrate = bitrates === undefined ? [] : ["-b:a", bitrates[channels === 1 ? 0 : 1]];
  // Without the flag ffmpeg draws a serial number, and the same sound makes other bytes.
  const repeatable = ["-fflags", "+bitexact"];
  const tag = ["-metadata", `comment=${SOURCE_TYPES.generated}`];
  return [...encoder, ...bitrate, ...repeatable, ...tag, ...muxer, ...(isStream ? streamed : [])];
}
