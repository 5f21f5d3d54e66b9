import type { VideoEncoder } from "./encoders.js";

/** Frames a second of a clip whose model does not say otherwise. */
export const FRAME_RATE = 24;

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
  const { encoder, size, threads } = encoding;
  const sound = files.soundPath === undefined ? undefined : soundArguments(format, files.soundPath);
  return [
    ["-v", "error", "-nostdin", "-y"],
    ["-f", "rawvideo", "-pix_fmt", "yuv420p", "-s", `${format.width}x${format.height}`],
    // A reader thread that holds one second: the writer goes on while the encoder is busy.
    ["-framerate", String(format.frameRate), "-thread_queue_size", String(format.frameRate)],
    ["-i", "pipe:0"],
    sound?.input ?? [],
    sound?.output ?? [],
    ["-c:v", encoder.name],
    size === undefined ? [] : scaleArguments(size),
    ["-map", "0:v:0"],
    sound === undefined ? [] : ["-map", "1:a:0"],
    ["-map_metadata", "-1", ...encoder.options],
    ["-pix_fmt", "yuv420p", "-threads", String(threads)],
    ["-color_range", "tv", "-colorspace", "bt709"],
    ["-color_primaries", "bt709", "-color_trc", "bt709"],
    ["-movflags", "+faststart", "-f", "mp4", `file:${files.path}`],
  ].flat();
}

/** Stretched where the shapes differ by a pixel: the clip's pixels are square. */
function scaleArguments({ width, height }: ClipSize): string[] {
  return ["-filter:v", `scale=${width}:${height}:flags=bicubic,setsar=1`];
}

function soundArguments({ frameCount, frameRate }: ClipFormat, soundPath: string) {
  const samples = Math.round((frameCount * SOUND_RATE_HZ) / frameRate);
  const filters = [
    `aresample=${SOUND_RATE_HZ}`,
    `apad=whole_len=${samples}`,
    `atrim=end_sample=${samples}`,
  ];
  return {
    input: ["-f", "wav", "-i", `file:${soundPath}`],
    output: ["-c:a", "aac", "-b:a", "192k", "-ac", "2", "-filter:a", filters.join(",")],
  };
}
