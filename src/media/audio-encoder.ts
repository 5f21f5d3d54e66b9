import { writeFile } from "node:fs/promises";
import { PassThrough, type Readable, type Writable } from "node:stream";
import { setTimeout as delay } from "node:timers/promises";
import { JobError, toJobError } from "../core/errors.js";
import {
  type AudioSource,
  fileArguments,
  isPlainPcm,
  streamArguments,
} from "./audio-encoder-arguments.js";
import { encodingError, runFfmpeg, throwIfCancelled } from "./ffmpeg.js";
import { describeExit, startProcessGroup } from "./process-group.js";
import { interleave, toPcm16, wavHeader } from "./wav.js";

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
    const header = options.format === "wav" ? [wavHeader(options, "int16", data.byteLength)] : [];
    await writeFile(path, Buffer.concat([...header, data]));
    return;
  }
  const { ffmpegPath, signal } = options;
  const run = { stdin: bytesOf(interleaved), ...(ffmpegPath && { ffmpegPath }) };
  await runFfmpeg(fileArguments(options, path), { ...run, ...(signal && { signal }) });
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
  const group = startProcessGroup(ffmpegPath, streamArguments(options));
  const kill = () => group.kill();
  signal?.addEventListener("abort", kill, { once: true });
  void group.exited.then(() => signal?.removeEventListener("abort", kill));
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
