import { readFile } from "node:fs/promises";
import { z } from "zod";
import { JobError } from "../core/errors.js";
import { FRAME_RATE } from "./encoder.js";
import { type FfmpegResult, type FfmpegRun, ownFileInput, runFfmpeg } from "./ffmpeg.js";
import { hasIndexFirst } from "./mp4.js";

export interface VideoTrack {
  readonly codec: string;
  /** Pixels. */
  readonly width: number;
  readonly height: number;
  readonly pixelFormat: string;
  /** Frames a second. */
  readonly frameRate: number;
  /** Counted packet by packet, not read from a header. */
  readonly frameCount: number;
  readonly durationSeconds: number;
}

export interface AudioTrack {
  readonly codec: string;
  readonly sampleRateHz: number;
  readonly channels: number;
  readonly durationSeconds: number;
}

export interface MediaInfo {
  /** `mp4`, else ffmpeg's name of the format. */
  readonly container: string;
  readonly durationSeconds: number;
  readonly video?: VideoTrack;
  readonly audio?: AudioTrack;
  /** MP4 whose index (`moov`) lies before its data (`mdat`): players start before the end arrives. */
  readonly fastStart: boolean;
}

export interface ProbeOptions {
  /** Default `ffprobe` from the search path. */
  readonly ffprobePath?: string;
  readonly signal?: AbortSignal;
}

export interface ClipExpectation {
  readonly frameCount: number;
  /** Frames a second; default 24. */
  readonly frameRate?: number;
  /** Pixels. */
  readonly width: number;
  readonly height: number;
  /** Whether there must be a sound track; without it there must be none. */
  readonly sound: boolean;
}

const number = z.coerce.number().catch(0);
const ratio = z.string().transform((text) => {
  const [over = 0, under = 1] = text.split("/").map(Number);
  return under === 0 ? 0 : over / under;
});

const report = z.object({
  format: z.object({ format_name: z.string(), duration: number }),
  streams: z.array(
    z.object({
      codec_type: z.string(),
      codec_name: z.string().default("unknown"),
      width: number,
      height: number,
      pix_fmt: z.string().default("unknown"),
      avg_frame_rate: ratio.catch(0),
      nb_read_packets: number,
      duration: number,
      sample_rate: number,
      channels: number,
    }),
  ),
});

type Stream = z.infer<typeof report>["streams"][number];

/** What ffprobe sees in a file this system made. Throws `encoder_failed` when it cannot be read. */
export async function probeMedia(path: string, options: ProbeOptions = {}): Promise<MediaInfo> {
  const { stdout } = await runFfprobe(ownFileInput(path), options);
  return readReport(stdout, await readFile(path));
}

/** An ffprobe that has started and waits for its file. Whoever starts one calls `end` in `finally`. */
export interface StartedProbe {
  /** As `verifyClip`, for an MP4; once. */
  verify(path: string, expectation: ClipExpectation): Promise<MediaInfo>;
  end(): Promise<void>;
}

/** Starts ffprobe while the file is still made: its start takes longer than its work. */
export function startProbe(options: ProbeOptions = {}): StartedProbe {
  const ended = new AbortController();
  let give: (bytes: Promise<Uint8Array>) => void = () => {};
  const stdin = new Promise<Uint8Array>((resolve) => (give = resolve));
  const signal = options.signal ? AbortSignal.any([options.signal, ended.signal]) : ended.signal;
  const run = runFfprobe(["-f", "mp4", "-i", "pipe:0"], { ...options, signal, stdin });
  // Whoever verifies sees the rejection; nobody waits for a probe that was not needed.
  const over = run.catch(() => undefined);
  return {
    async verify(path, expectation) {
      const bytes = readFile(path);
      give(bytes);
      const { stdout } = await run;
      return checkClip(readReport(stdout, await bytes), expectation);
    },
    async end() {
      give(Promise.resolve(new Uint8Array()));
      ended.abort();
      await over;
    },
  };
}

const SHOW = ["-v", "error", "-of", "json", "-show_format", "-show_streams", "-count_packets"];

function runFfprobe(
  input: readonly string[],
  { ffprobePath = "ffprobe", signal, stdin }: ProbeOptions & Pick<FfmpegRun, "stdin">,
): Promise<FfmpegResult> {
  const run = { ffmpegPath: ffprobePath, ...(signal && { signal }), ...(stdin && { stdin }) };
  return runFfmpeg([...SHOW, ...input], run);
}

function readReport(stdout: Uint8Array, file: Uint8Array): MediaInfo {
  const { format, streams } = report.parse(JSON.parse(Buffer.from(stdout).toString("utf8")));
  const video = streams.find((stream) => stream.codec_type === "video");
  const audio = streams.find((stream) => stream.codec_type === "audio");
  const isMp4 = format.format_name.split(",").includes("mp4");
  return {
    container: isMp4 ? "mp4" : format.format_name,
    durationSeconds: format.duration,
    ...(video && { video: videoTrack(video) }),
    ...(audio && { audio: audioTrack(audio) }),
    fastStart: isMp4 && hasIndexFirst(file),
  };
}

/** Probes a finished clip. Throws `encoder_failed` with a sentence that names everything that differs. */
export async function verifyClip(
  path: string,
  expectation: ClipExpectation & ProbeOptions,
): Promise<MediaInfo> {
  return checkClip(await probeMedia(path, expectation), expectation);
}

function checkClip(info: MediaInfo, expectation: ClipExpectation): MediaInfo {
  const expected = { frameRate: FRAME_RATE, ...expectation };
  const differences = [...videoDifferences(info, expected), ...soundDifferences(info, expected)];
  if (!info.fastStart) differences.push("moov must come before mdat");
  if (differences.length > 0)
    throw new JobError("encoder_failed", `clip is not as ordered: ${differences.join("; ")}`);
  return info;
}

function videoTrack(stream: Stream): VideoTrack {
  return {
    codec: stream.codec_name,
    width: stream.width,
    height: stream.height,
    pixelFormat: stream.pix_fmt,
    frameRate: stream.avg_frame_rate,
    frameCount: stream.nb_read_packets,
    durationSeconds: stream.duration,
  };
}

function audioTrack(stream: Stream): AudioTrack {
  return {
    codec: stream.codec_name,
    sampleRateHz: stream.sample_rate,
    channels: stream.channels,
    durationSeconds: stream.duration,
  };
}

function videoDifferences(info: MediaInfo, expected: Required<ClipExpectation>): string[] {
  const { video } = info;
  if (video === undefined) return ["it has no video track"];
  const seconds = expected.frameCount / expected.frameRate;
  return [
    differs("container", info.container, "mp4"),
    differs("codec", video.codec, "h264"),
    differs("pixel format", video.pixelFormat, "yuv420p"),
    differs("size", `${video.width}x${video.height}`, `${expected.width}x${expected.height}`),
    differs("frame count", video.frameCount, expected.frameCount),
    differs("frame rate", video.frameRate, expected.frameRate),
    differsInSeconds("duration", info.durationSeconds, seconds, 1 / expected.frameRate),
  ].filter((difference) => difference !== undefined);
}

function soundDifferences({ audio }: MediaInfo, expected: Required<ClipExpectation>): string[] {
  if (!expected.sound) return audio === undefined ? [] : ["it must have no sound"];
  if (audio === undefined) return ["it has no sound"];
  const seconds = expected.frameCount / expected.frameRate;
  return [
    differs("sound codec", audio.codec, "aac"),
    differs("sample rate", audio.sampleRateHz, 48_000),
    differs("channels", audio.channels, 2),
    differsInSeconds("sound duration", audio.durationSeconds, seconds, 1 / expected.frameRate),
  ].filter((difference) => difference !== undefined);
}

function differs<Value extends string | number>(
  name: string,
  got: Value,
  expected: Value,
): string | undefined {
  return got === expected ? undefined : `${name} must be ${expected}, got ${got}`;
}

function differsInSeconds(
  name: string,
  got: number,
  expected: number,
  tolerance: number,
): string | undefined {
  const close = Math.abs(got - expected) <= tolerance;
  return close ? undefined : `${name} must be ${expected.toFixed(3)} s, got ${got.toFixed(3)} s`;
}
