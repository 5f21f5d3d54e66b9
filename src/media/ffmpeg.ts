import { extname } from "node:path";
import { JobError, messageOf } from "../core/errors.js";
import { describeExit, type ProcessGroup, startProcessGroup } from "./process-group.js";

export interface FfmpegRun {
  /** Binary to run; default `ffmpeg` from the search path. */
  readonly ffmpegPath?: string;
  readonly signal?: AbortSignal;
  /** Wall time after which the process group is killed; default 60 000. */
  readonly timeoutMs?: number;
  /** Bytes for standard input; default none. */
  readonly stdin?: Uint8Array;
  /** Most bytes taken from standard output before the run is stopped; default 64 MiB. */
  readonly stdoutLimitBytes?: number;
}

export interface FfmpegResult {
  readonly stdout: Uint8Array;
  /** Last 4 KiB. */
  readonly stderr: string;
}

/**
 * Runs ffmpeg (or ffprobe) once, in its own process group, to its end. Throws `encoder_failed` for a
 * non-zero exit, a time-out or too much output, `worker_fault` where the disk is full or the like, and
 * `cancelled` when the signal aborts.
 */
export async function runFfmpeg(
  args: readonly string[],
  run: FfmpegRun = {},
): Promise<FfmpegResult> {
  throwIfCancelled(run.signal);
  const { ffmpegPath = "ffmpeg", signal, timeoutMs = 60_000 } = run;
  const group = startProcessGroup(ffmpegPath, args, { signal, timeoutMs });
  try {
    const output = collectOutput(group, run.stdoutLimitBytes ?? 64 * 1024 * 1024);
    group.child.stdin.end(run.stdin);
    const exit = await group.exited;
    throwIfCancelled(signal);
    if (group.timedOut)
      throw new JobError("encoder_failed", `ffmpeg took more than ${timeoutMs} ms`);
    const stdout = output();
    const stderr = group.stderrTail();
    if (exit.code !== 0) throw encodingError(`ffmpeg: ${describeExit(exit, stderr)}`);
    return { stdout, stderr };
  } finally {
    group.kill();
  }
}

/** Where Debian's packages or Homebrew's install it. */
const INSTALL: Partial<Record<NodeJS.Platform, string>> = {
  linux: "apt-get install ffmpeg",
  darwin: "brew install ffmpeg",
};
export const FFMPEG_MEND = `install it (${INSTALL[process.platform] ?? "https://ffmpeg.org"}), or set FFMPEG_PATH and FFPROBE_PATH`;

/** ffmpeg's first line about itself. Throws the sentence that says which of the two programs does not run. */
export async function describeFfmpeg(programs: {
  readonly ffmpegPath: string;
  readonly ffprobePath: string;
}): Promise<string> {
  const { ffmpegPath, ffprobePath } = programs;
  const [first = ""] = await Promise.all([ffmpegPath, ffprobePath].map(readVersion));
  return first;
}

/** Throws the same sentence with what to do about it. */
export async function requireFfmpeg(programs: Parameters<typeof describeFfmpeg>[0]): Promise<void> {
  await describeFfmpeg(programs).catch((cause: unknown) => {
    throw new Error(`${messageOf(cause)}: ${FFMPEG_MEND}`, { cause });
  });
}

async function readVersion(program: string): Promise<string> {
  try {
    const { stdout } = await runFfmpeg(["-version"], { ffmpegPath: program });
    return Buffer.from(stdout).toString().split("\n")[0] ?? "";
  } catch (cause) {
    throw new Error(`${program} does not run, which makes every clip and sound`, { cause });
  }
}

/** The words of errno(3) for a machine without room, handles or memory, at the end of what ffmpeg says. */
const LOCAL_FAULT =
  /(No space left on device|Disk quota exceeded|Read-only file system|File too large|Too many open files( in system)?|Cannot allocate memory|\b(ENOSPC|EDQUOT|EROFS|EMFILE|ENFILE|ENOMEM|EAGAIN))\.?\s*(\||$)/m;

/** `worker_fault` where the machine is at fault, else `encoder_failed`. Not for what a caller sent: it may say anything. */
export function encodingError(problem: string): JobError {
  return new JobError(LOCAL_FAULT.test(problem) ? "worker_fault" : "encoder_failed", problem);
}

/** Throws the signal's own `JobError`, or `cancelled`, when it is aborted. */
export function throwIfCancelled(signal: AbortSignal | undefined): void {
  if (signal?.aborted !== true) return;
  if (signal.reason instanceof JobError) throw signal.reason;
  throw new JobError("cancelled", "media work was cancelled", { cause: signal.reason });
}

const DEMUXERS: Record<string, string> = {
  ".mp4": "mp4",
  ".wav": "wav",
  ".mp3": "mp3",
  ".flac": "flac",
  ".aac": "aac",
  ".opus": "ogg",
  ".ogg": "ogg",
};

/** Input arguments for a file this system made: the demuxer is forced by the name, never guessed. */
export function ownFileInput(path: string): string[] {
  const demuxer = DEMUXERS[extname(path).toLowerCase()];
  if (demuxer === undefined)
    throw new JobError(
      "encoder_failed",
      `file name must end in ${Object.keys(DEMUXERS).join(", ")}, got ${JSON.stringify(extname(path))}`,
    );
  return ["-f", demuxer, "-protocol_whitelist", "file", "-i", `file:${path}`];
}

/** Kills a group that writes too much; what is returned then throws. */
function collectOutput(group: ProcessGroup, limitBytes: number): () => Buffer {
  const chunks: Buffer[] = [];
  let byteLength = 0;
  group.child.stdout.on("data", (chunk: Buffer) => {
    byteLength += chunk.byteLength;
    if (byteLength > limitBytes) group.kill();
    else chunks.push(chunk);
  });
  return () => {
    if (byteLength <= limitBytes) return Buffer.concat(chunks);
    throw new JobError("encoder_failed", `ffmpeg wrote more than ${limitBytes} bytes`);
  };
}

export interface TimeStretch {
  /** 2 = twice as fast. */
  readonly tempo: number;
  readonly sampleRateHz: number;
  readonly ffmpegPath: string;
  readonly signal?: AbortSignal;
}

/** Slowest tempo of one atempo filter; above 2 it would drop samples instead of blending them. */
const TEMPO_RANGE = [0.5, 2] as const;

/** Mono samples, float32, at another tempo and the same pitch: ffmpeg's atempo (WSOLA). */
export async function stretchTime(
  samples: Float32Array,
  { tempo, sampleRateHz, ffmpegPath, signal }: TimeStretch,
): Promise<Float32Array> {
  if (Math.abs(tempo - 1) < 1e-3) return samples;
  const raw = ["-f", "f32le", "-ar", String(sampleRateHz), "-ac", "1"];
  const filter = tempoSteps(tempo).map((step) => `atempo=${step.toFixed(6)}`);
  const args = ["-v", "error", "-nostdin", ...raw, "-i", "pipe:0", "-af", filter.join(",")];
  const stdin = new Uint8Array(samples.buffer, samples.byteOffset, samples.byteLength);
  const run = { ffmpegPath, stdin, ...(signal && { signal }) };
  const { stdout } = await runFfmpeg([...args, ...raw, "pipe:1"], run);
  return new Float32Array(new Uint8Array(stdout).buffer);
}

/** Equal factors within the filter's range that multiply to the tempo. */
function tempoSteps(tempo: number): number[] {
  const [slowest, fastest] = TEMPO_RANGE;
  const range = Math.log(tempo < 1 ? slowest : fastest);
  const count = Math.max(1, Math.ceil(Math.log(tempo) / range - 1e-9));
  return Array.from({ length: count }, () => tempo ** (1 / count));
}
