import ffmpeg from "fluent-ffmpeg";
import type { VideoEncoder } from "./encoders.js";
import { commandArguments } from "./ffmpeg.js";

/** Sample rate of the sound track, Hz. */
const SOUND_RATE_HZ = 48_000;

export interface ClipFormat {
  /** Frame size in pixels; both even. */
  readonly width: number;
  readonly height: number;
  /** Frames a second. */
  readonly frameRate: number;
  readonly frameCount: number;
}

/** Pixels; both even. */
export interface ClipSize {
  readonly width: number;
  readonly height: number;
}

export interface ClipFiles {
  /** MP4 to write. */
  readonly path: string;
  /** WAV to mix in: any rate, mono or stereo; padded or cut to the clip's length. */
  readonly soundPath?: string;
}

export interface ClipEncoding {
  readonly encoder: VideoEncoder;
  /** Of the clip, where its frames are to be scaled. */
  readonly size?: ClipSize | undefined;
  /** Encoder threads; 0 = as many as ffmpeg likes. */
  readonly threads: number;
}

/** ffmpeg's argument list: I420 frames on standard input (and a WAV) to a fast-start MP4. */
export function clipArguments(
  format: ClipFormat,
  files: ClipFiles,
  encoding: ClipEncoding,
): string[] {
  const command = ffmpeg()
    .input("pipe:0")
    .inputFormat("rawvideo")
    .inputOptions("-pix_fmt", "yuv420p", "-s", `${format.width}x${format.height}`)
    .inputOptions("-framerate", String(format.frameRate))
    // A reader thread that holds one second: the writer goes on while the encoder is busy.
    .inputOptions("-thread_queue_size", String(format.frameRate));
  command.outputOptions("-map", "0:v:0");
  if (files.soundPath !== undefined) addSound(command, format, files.soundPath);
  if (encoding.size !== undefined) scale(command, encoding.size);
  command
    .outputOptions("-map_metadata", "-1")
    .videoCodec(encoding.encoder.name)
    .outputOptions(
      ...encoding.encoder.options,
      "-pix_fmt",
      "yuv420p",
      "-threads",
      String(encoding.threads),
    )
    .outputOptions(
      "-color_range",
      "tv",
      "-colorspace",
      "bt709",
      "-color_primaries",
      "bt709",
      "-color_trc",
      "bt709",
    )
    .outputOptions("-movflags", "+faststart")
    .format("mp4")
    .output(`file:${files.path}`);
  return ["-v", "error", "-nostdin", "-y", ...commandArguments(command)];
}

/** Stretched where the shapes differ by a pixel: the clip's pixels are square. */
function scale(command: ffmpeg.FfmpegCommand, { width, height }: ClipSize): void {
  command.videoFilters([`scale=${width}:${height}:flags=bicubic`, "setsar=1"]);
}

function addSound(command: ffmpeg.FfmpegCommand, format: ClipFormat, soundPath: string): void {
  const samples = Math.round((format.frameCount * SOUND_RATE_HZ) / format.frameRate);
  command
    .input(`file:${soundPath}`)
    .inputFormat("wav")
    .audioFilters([
      `aresample=${SOUND_RATE_HZ}`,
      `apad=whole_len=${samples}`,
      `atrim=end_sample=${samples}`,
    ])
    .audioCodec("aac")
    .audioBitrate("192k")
    .audioChannels(2)
    .outputOptions("-map", "1:a:0");
}
