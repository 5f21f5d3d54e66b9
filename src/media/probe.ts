import { readFile } from "node:fs/promises";
import { z } from "zod";
import { type FfmpegResult, ownFileInput, runFfmpeg } from "./ffmpeg.js";
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

const SHOW = ["-v", "error", "-of", "json", "-show_format", "-show_streams", "-count_packets"];

function runFfprobe(
  input: readonly string[],
  { ffprobePath = "ffprobe", signal }: ProbeOptions,
): Promise<FfmpegResult> {
  const run = { ffmpegPath: ffprobePath, ...(signal && { signal }) };
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
