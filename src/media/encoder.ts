import { open, rm } from "node:fs/promises";
import { JobError } from "../core/errors.js";
import { SOURCE_TYPES } from "../core/source-type.js";
import { createFragmentReader, type Fragment } from "./fragments.js";
import { encodingError, runFfmpeg, throwIfCancelled } from "./ffmpeg.js";
import { type ClipSize, frameByteLength } from "./i420.js";
import { describeExit, startProcessGroup } from "./process-group.js";

export interface EncoderOptions extends Omit<ClipFormat, "frameRate">, ClipFiles {
  /** Frames a second; default 24. */
  readonly frameRate?: number;
  /** Of the clip; its frames are scaled to it. Their own where absent. */
  readonly size?: ClipSize;
  /** Kills ffmpeg when it aborts; `write` and `finish` then throw. */
  readonly signal?: AbortSignal;
  /** Default `ffmpeg` from the search path. */
  readonly ffmpegPath?: string;
  /** Called with the pieces of the same encoding as a fragmented MP4 while it is made; each begins with a key frame. */
  readonly onFragment?: (fragment: Fragment) => void;
}

/** A running ffmpeg that turns I420 frames into an H.264 MP4. Whoever opens it calls `abort` in `finally`. */
export interface Encoder {
  /**
   * Whole or partial frames, uint8, I420: [height, width] luma, then [height/2, width/2] Cb and Cr,
   * BT.709 limited range. Resolves when ffmpeg took the bytes, so the array may be reused then; up to
   * one second of frames waits inside ffmpeg, so writing runs ahead of encoding.
   */
  write(frames: Uint8Array): Promise<void>;
  /** Resolves when the file is whole and on disk. Throws `encoder_failed` (`worker_fault` on a full disk) and removes it otherwise. */
  finish(): Promise<void>;
  /** Kills ffmpeg with its process group and removes an unfinished file; nothing after `finish`. */
  abort(): Promise<void>;
}

/** Starts ffmpeg, so that encoding goes along with the making of the frames. */
export async function openEncoder(options: EncoderOptions): Promise<Encoder> {
  const { path, signal, onFragment, ffmpegPath = "ffmpeg" } = options;
  const format = checkedFormat(options);
  const encoder = await chooseVideoEncoder(ffmpegPath);
  throwIfCancelled(signal);
  const { size = format } = options;
  const isScaled = size.width !== format.width || size.height !== format.height;
  const isLive = onFragment !== undefined;
  const args = clipArguments(format, options, { encoder, isLive, ...(isScaled && { size }) });
  const group = startProcessGroup(ffmpegPath, args, { signal });
  const { stdin, stdout } = group.child;
  if (onFragment === undefined) stdout.resume();
  else stdout.on("data", createFragmentReader(onFragment));
  const frameBytes = frameByteLength(format.width, format.height);
  let writtenBytes = 0;
  let finished = false;
  const abort = async (): Promise<void> => {
    if (finished) return;
    group.kill();
    await group.exited;
    await rm(path, { force: true });
  };
  const fail = async (problem: string): Promise<never> => {
    await abort();
    throwIfCancelled(signal);
    throw encodingError(problem);
  };
  const failWithExit = async (): Promise<never> => {
    const how = describeExit(await group.exited, group.stderrTail());
    return await fail(`ffmpeg stopped early: ${how}`);
  };
  const failByCount = (): Promise<never> =>
    fail(`clip must have ${format.frameCount} frames, got ${writtenBytes / frameBytes}`);
  return {
    async write(frames) {
      writtenBytes += frames.byteLength;
      if (writtenBytes > frameBytes * format.frameCount) await failByCount();
      const chunk = Buffer.from(frames.buffer, frames.byteOffset, frames.byteLength);
      const isBroken = await new Promise<boolean>((resolve) => {
        stdin.write(chunk, (error) => resolve(error !== null && error !== undefined));
      });
      if (isBroken) await failWithExit();
    },
    async finish() {
      if (writtenBytes !== frameBytes * format.frameCount) await failByCount();
      stdin.end();
      if ((await group.exited).code !== 0) await failWithExit();
      await syncFile(path);
      finished = true;
    },
    abort,
  };
}

function checkedFormat(options: EncoderOptions): ClipFormat {
  const { width, height, frameCount, frameRate = FRAME_RATE, size = options } = options;
  const isEven = (side: number) => Number.isInteger(side) && side >= 2 && side % 2 === 0;
  const isCount = (count: number) => Number.isInteger(count) && count >= 1;
  const areEven = [width, height, size.width, size.height].every(isEven);
  if (areEven && isCount(frameCount) && isCount(frameRate))
    return { width, height, frameCount, frameRate };
  throw new JobError(
    "encoder_failed",
    `clip must have even sides and whole counts, got ${width} × ${height} as ${size.width} × ${size.height}, ${frameCount} frames at ${frameRate}`,
  );
}

async function syncFile(path: string): Promise<void> {
  const file = await open(path, "r+");
  try {
    await file.sync();
  } finally {
    await file.close();
  }
}

/** Frames a second of a clip whose model does not say otherwise. */
export const FRAME_RATE = 24;

/** Sample rate of the sound track, Hz. */
const SOUND_RATE_HZ = 48_000;

export interface ClipFormat extends ClipSize {
  /** Frames a second. */
  readonly frameRate: number;
  readonly frameCount: number;
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
  /** Whether a fragmented MP4 of the same encoding goes to standard output. */
  readonly isLive?: boolean;
}

/** ffmpeg's argument list: I420 frames on standard input (and a WAV) to a fast-start MP4. */
export function clipArguments(
  format: ClipFormat,
  files: ClipFiles,
  encoding: ClipEncoding,
): string[] {
  const { encoder, size, isLive = false } = encoding;
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
    ["-map_metadata", "-1", "-metadata", `comment=${SOURCE_TYPES.generated}`, ...encoder.options],
    ["-pix_fmt", "yuv420p", "-threads", "0"],
    ["-color_range", "tv", "-colorspace", "bt709"],
    ["-color_primaries", "bt709", "-color_trc", "bt709"],
    isLive
      ? [
          "-flags",
          "+global_header",
          "-f",
          "tee",
          `${LIVE_OUTPUT}|[f=mp4:movflags=+faststart]${escaped(files.path)}`,
        ]
      : ["-movflags", "+faststart", "-f", "mp4", `file:${files.path}`],
  ].flat();
}

/**
 * A fragment a key frame, the head with the first one: only then its edit lists are known. It comes first,
 * for the other output is written a second time when it ends.
 */
const LIVE_OUTPUT =
  "[f=mp4:movflags=+frag_keyframe+empty_moov+delay_moov+default_base_moof+skip_trailer:onfail=ignore]pipe\\:1";

/** As ffmpeg's tee reads a path: once unescaped. */
function escaped(path: string): string {
  return `file\\:${path.replace(/[\\'|\s]/g, "\\$&")}`;
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

/** An H.264 encoder of ffmpeg and the settings it runs with. */
export interface VideoEncoder {
  readonly name: "h264_nvenc" | "libx264";
  readonly options: readonly string[];
}

/**
 * Key frame at seconds 0, 1, 3, 5…: players can seek, and who watches a clip while it is made has its first
 * second early. One after each second would make files of little movement a fifth larger.
 */
const GROUP_OF_PICTURES = [
  "-g",
  "48",
  "-forced-idr",
  "1",
  "-force_key_frames",
  "expr:gte(t,if(n_forced,2*n_forced-1,0))",
];

const NVENC: VideoEncoder = {
  name: "h264_nvenc",
  options: ["-preset", "p4", "-rc", "vbr", "-cq", "21", "-b:v", "0", ...GROUP_OF_PICTURES],
};

const X264: VideoEncoder = {
  name: "libx264",
  options: [
    "-preset",
    "veryfast",
    "-crf",
    "20",
    ...GROUP_OF_PICTURES,
    "-x264-params",
    "sync-lookahead=0",
  ],
};

const chosen = new Map<string, Promise<VideoEncoder>>();

/**
 * NVENC where it really encodes, else libx264. H100, H200 and A100 list `h264_nvenc` but have no
 * encoder, so a few frames are encoded once a process; call it early to take the probe off the first job.
 */
export function chooseVideoEncoder(ffmpegPath: string): Promise<VideoEncoder> {
  const known = chosen.get(ffmpegPath);
  if (known !== undefined) return known;
  const choice = opens(NVENC, ffmpegPath).then((works) => (works ? NVENC : X264));
  chosen.set(ffmpegPath, choice);
  return choice;
}

async function opens(encoder: VideoEncoder, ffmpegPath: string): Promise<boolean> {
  const source = ["-f", "lavfi", "-i", "color=c=gray:s=640x360:r=24", "-frames:v", "8"];
  const target = [
    "-c:v",
    encoder.name,
    ...encoder.options,
    "-pix_fmt",
    "yuv420p",
    "-f",
    "null",
    "-",
  ];
  try {
    await runFfmpeg(["-v", "error", "-nostdin", ...source, ...target], {
      ffmpegPath,
      timeoutMs: 10_000,
    });
    return true;
  } catch {
    return false;
  }
}
