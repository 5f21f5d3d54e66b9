import { type AudioFormat, PCM_RATE_HZ } from "../core/audio-format.js";

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
    streamed: ["-write_xing", "0", "-id3v2_version", "0"],
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
export function streamArguments(source: AudioSource): string[] {
  return [
    ...inputArguments(source),
    ...outputArguments(source, true),
    "-flush_packets",
    "1",
    "pipe:1",
  ];
}

/** The same into a file, with its true length in the header where the format has a place for it. */
export function fileArguments(source: AudioSource, path: string): string[] {
  return [...inputArguments(source), ...outputArguments(source, false), "-y", `file:${path}`];
}

/** Whether the samples need no more than rounding. */
export function isPlainPcm({ format, sampleRateHz }: AudioSource): boolean {
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
  return [...encoder, ...bitrate, ...repeatable, ...muxer, ...(isStream ? streamed : [])];
}
