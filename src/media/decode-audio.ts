import { createWriteStream } from "node:fs";
import { Transform } from "node:stream";
import { pipeline } from "node:stream/promises";
import { JobError } from "../core/errors.js";
import { withIndexFirst } from "./mp4.js";
import { throwIfCancelled } from "./ffmpeg.js";
import { describeExit, type ProcessExit, startProcessGroup } from "./process-group.js";

export interface DecodeAudio {
  /** Where the samples go: mono, signed 16 bit, little-endian, without a header. */
  readonly path: string;
  readonly sampleRateHz: number;
  /** A longer sound is refused. */
  readonly maxSeconds: number;
  readonly signal: AbortSignal;
  /** The request field that carried the bytes, for messages. */
  readonly param: string;
  readonly ffmpegPath?: string;
  /** Wall time after which decoding is given up; default 120 000. */
  readonly timeoutMs?: number;
}

const SAMPLE_BYTES = 2;

/** Decoders of sound; pictures and video in an upload are never decoded, cover art included. */
const SOUND_DECODERS =
  "aac,aac_latm,alac,ac3,eac3,amrnb,amrwb,flac,opus,libopus,vorbis,libvorbis,mp1,mp1float," +
  "mp2,mp2float,mp3,mp3float,wmav2,pcm_s16le,pcm_s16be,pcm_s24le,pcm_s24be,pcm_s32le," +
  "pcm_s32be,pcm_u8,pcm_s8,pcm_f32le,pcm_f32be,pcm_f64le,pcm_f64be,pcm_alaw,pcm_mulaw," +
  "pcm_dvd,pcm_s16le_planar,adpcm_ms,adpcm_ima_wav,adpcm_g726,gsm_ms";

/**
 * Decodes an uploaded sound to a file and returns the number of samples. ffmpeg reads from a pipe
 * only, with the demuxer that the first bytes call for; it sees no file, no network and no name. Throws
 * `invalid_value` with `param` for what is no sound, has none, or is too long.
 */
export async function decodeAudio(bytes: Uint8Array, decode: DecodeAudio): Promise<number> {
  throwIfCancelled(decode.signal);
  const format = detectSoundFormat(bytes, decode.param);
  const input = format.demuxer === "mov" ? withIndexFirst(bytes) : bytes;
  const { param, signal, timeoutMs = 120_000, ffmpegPath = "ffmpeg" } = decode;
  const args = decodeArguments(format, decode);
  const group = startProcessGroup(ffmpegPath, args, { signal, timeoutMs });
  try {
    group.child.stdin.end(input);
    const counter = countSamples(decode);
    await pipeline(group.child.stdout, counter.stream, createWriteStream(decode.path));
    const exit = await group.exited;
    throwIfCancelled(signal);
    if (group.timedOut) {
      const message = `${param} took more than ${timeoutMs / 1_000} s to decode`;
      throw new JobError("invalid_value", message, { param });
    }
    if (exit.code !== 0) throw decodeError(format, decode, { exit, stderr: group.stderrTail() });
    if (counter.samples() === 0)
      throw new JobError("invalid_value", `${param} holds no sound`, { param });
    return counter.samples();
  } finally {
    group.kill();
  }
}

function decodeArguments({ demuxer }: SoundFormat, decode: DecodeAudio): string[] {
  const quiet = ["-hide_banner", "-nostdin", "-nostats", "-v", "error"];
  const restricted = ["-protocol_whitelist", "pipe", "-codec_whitelist", SOUND_DECODERS];
  const input = ["-threads", "1", "-vn", "-sn", "-dn", "-f", demuxer, "-i", "pipe:0"];
  // One second more than allowed, so that "too long" is seen and not cut.
  const output = ["-map", "0:a:0", "-t", `${decode.maxSeconds + 1}`, "-map_metadata", "-1"];
  const samples = ["-ac", "1", "-ar", `${decode.sampleRateHz}`, "-f", "s16le", "pipe:1"];
  return [...quiet, ...restricted, ...input, ...output, ...samples];
}

function countSamples({ maxSeconds, sampleRateHz, param }: DecodeAudio) {
  let byteLength = 0;
  const limit = maxSeconds * sampleRateHz * SAMPLE_BYTES;
  const stream = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      byteLength += chunk.byteLength;
      if (byteLength <= limit) return done(null, chunk);
      const message = `${param} must be at most ${maxSeconds} s of sound, is longer`;
      return done(new JobError("invalid_value", message, { param }));
    },
  });
  return { stream, samples: () => Math.floor(byteLength / SAMPLE_BYTES) };
}

/** What ffmpeg says of its input is the caller's fault; that it did not start, or was killed, is not. */
function decodeError(
  { name }: SoundFormat,
  { param }: DecodeAudio,
  { exit, stderr }: { readonly exit: ProcessExit; readonly stderr: string },
): JobError {
  if (exit.code === null || /failed to execute/.test(stderr))
    return new JobError("encoder_failed", `ffmpeg: ${describeExit(exit, stderr)}`);
  const message = /matches no streams/.test(stderr)
    ? `${param} has no sound track`
    : `${param} could not be decoded as ${name}`;
  return new JobError("invalid_value", message, { param, cause: new Error(stderr) });
}

/** How a sound upload is read: ffmpeg's demuxer, never guessed from the name or by ffmpeg itself. */
export interface SoundFormat {
  readonly name: string;
  readonly demuxer: string;
  readonly mediaType: string;
}

const WAV = { name: "wav", demuxer: "wav", mediaType: "audio/wav" };
const FLAC = { name: "flac", demuxer: "flac", mediaType: "audio/flac" };
const OGG = { name: "ogg", demuxer: "ogg", mediaType: "audio/ogg" };
const MATROSKA = { name: "webm", demuxer: "matroska", mediaType: "audio/webm" };
const MP4 = { name: "mp4", demuxer: "mov", mediaType: "audio/mp4" };
const PROGRAM_STREAM = { name: "mpeg", demuxer: "mpeg", mediaType: "video/mpeg" };
const AMR = { name: "amr", demuxer: "amr", mediaType: "audio/amr" };
const MP3 = { name: "mp3", demuxer: "mp3", mediaType: "audio/mpeg" };
const AAC = { name: "aac", demuxer: "aac", mediaType: "audio/aac" };

const NAMES = "wav, mp3, flac, ogg, opus, webm, mp4, m4a, mov, mpeg, mpga, aac or amr";

/** First bytes that settle the format; `at` is where they stand. */
const MAGIC: readonly {
  readonly at: number;
  readonly magic: string;
  readonly format: SoundFormat;
}[] = [
  { at: 8, magic: "WAVE", format: WAV },
  { at: 0, magic: "fLaC", format: FLAC },
  { at: 0, magic: "OggS", format: OGG },
  { at: 0, magic: "\x1aE\xdf\xa3", format: MATROSKA },
  { at: 4, magic: "ftyp", format: MP4 },
  { at: 0, magic: "\x00\x00\x01\xba", format: PROGRAM_STREAM },
  { at: 0, magic: "#!AMR", format: AMR },
];
const WAVE_FORMS = new Set(["RIFF", "RF64"]);

/** The format of an upload by its first bytes. Throws `invalid_value` where it is none we read. */
export function detectSoundFormat(bytes: Uint8Array, param: string): SoundFormat {
  if (bytes.byteLength === 0) throw refusal(`${param} must not be empty`, param);
  const format = findFormat(bytes);
  if (format !== undefined) return format;
  throw refusal(`${param} must be a sound file: ${NAMES}; its first bytes are of none`, param);
}

function findFormat(bytes: Uint8Array): SoundFormat | undefined {
  const start = bytes.subarray(id3Length(bytes));
  const found = MAGIC.find(({ at, magic }) => textAt(start, at, magic.length) === magic)?.format;
  if (found === WAV) return WAVE_FORMS.has(textAt(start, 0, 4)) ? WAV : undefined;
  if (found !== undefined) return found;
  const frame = mpegFrame(start);
  // An ID3 tag in front of what is not a frame yet (padding) is what MP3 encoders leave.
  return frame ?? (start.byteLength < bytes.byteLength ? MP3 : undefined);
}

/** ADTS has layer 0; MPEG audio layers 1 to 3, with a real bit rate and sample rate. */
function mpegFrame(bytes: Uint8Array): SoundFormat | undefined {
  const [first = 0, second = 0, third = 0] = bytes;
  if (first !== 0xff || (second & 0xe0) !== 0xe0) return undefined;
  const layer = (second >> 1) & 3;
  if (layer === 0) return (second & 0xf0) === 0xf0 ? AAC : undefined;
  const hasVersion = ((second >> 3) & 3) !== 1;
  const hasRates = third >> 4 !== 15 && ((third >> 2) & 3) !== 3;
  return hasVersion && hasRates ? MP3 : undefined;
}

/** Length of an ID3v2 tag in front, 0 for none (id3.org, ID3v2.4.0 structure, 3.1). */
function id3Length(bytes: Uint8Array): number {
  if (bytes.byteLength < 10 || textAt(bytes, 0, 3) !== "ID3") return 0;
  const digits = bytes.subarray(6, 10);
  return digits.reduce((length, digit) => length * 128 + (digit & 0x7f), 0) + 10;
}

function textAt(bytes: Uint8Array, at: number, length: number): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString(
    "latin1",
    at,
    at + length,
  );
}

function refusal(message: string, param: string): JobError {
  return new JobError("invalid_value", message, { param });
}
