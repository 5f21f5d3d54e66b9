import { open, rm } from "node:fs/promises";
import { JobError } from "../core/errors.js";
import {
  type ClipFiles,
  type ClipFormat,
  type ClipSize,
  clipArguments,
  FRAME_RATE,
} from "./clip-arguments.js";
import { chooseVideoEncoder } from "./encoders.js";
import { encodingError, throwIfCancelled } from "./ffmpeg.js";
import { describeExit, type ProcessGroup, startProcessGroup } from "./process-group.js";

export interface EncoderOptions extends Omit<ClipFormat, "frameRate">, ClipFiles {
  /** Frames a second; default 24. */
  readonly frameRate?: number;
  /** Of the clip; its frames are scaled to it. Their own where absent. */
  readonly size?: ClipSize;
  /** Encoder threads; default: ffmpeg decides. */
  readonly threads?: number;
  /** Kills ffmpeg when it aborts; `write` and `finish` then throw. */
  readonly signal?: AbortSignal;
  /** Default `ffmpeg` from the search path. */
  readonly ffmpegPath?: string;
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
  const format = checkedFormat(options);
  const ffmpegPath = options.ffmpegPath ?? "ffmpeg";
  const encoder = await chooseVideoEncoder(ffmpegPath);
  throwIfCancelled(options.signal);
  const { threads = 0, size = format } = options;
  const isScaled = size.width !== format.width || size.height !== format.height;
  const encoding = { encoder, threads, ...(isScaled && { size: checkedSize(size) }) };
  const args = clipArguments(format, options, encoding);
  return new FfmpegEncoder(startProcessGroup(ffmpegPath, args), format, options);
}

/** Bytes of one I420 frame. */
export function frameByteLength(width: number, height: number): number {
  return (width * height * 3) / 2;
}

class FfmpegEncoder implements Encoder {
  readonly #group: ProcessGroup;
  readonly #path: string;
  readonly #signal: AbortSignal | undefined;
  readonly #frameBytes: number;
  readonly #expectedBytes: number;
  #writtenBytes = 0;
  #finished = false;

  constructor(group: ProcessGroup, format: ClipFormat, options: EncoderOptions) {
    this.#group = group;
    this.#path = options.path;
    this.#signal = options.signal;
    this.#frameBytes = frameByteLength(format.width, format.height);
    this.#expectedBytes = this.#frameBytes * format.frameCount;
    const kill = (): void => group.kill();
    options.signal?.addEventListener("abort", kill, { once: true });
    void group.exited.then(() => options.signal?.removeEventListener("abort", kill));
    group.child.stdout.resume();
  }

  async write(frames: Uint8Array): Promise<void> {
    this.#writtenBytes += frames.byteLength;
    if (this.#writtenBytes > this.#expectedBytes) await this.#fail(this.#frameCountProblem());
    const chunk = Buffer.from(frames.buffer, frames.byteOffset, frames.byteLength);
    const broken = await new Promise<boolean>((resolve) => {
      this.#group.child.stdin.write(chunk, (error) =>
        resolve(error !== null && error !== undefined),
      );
    });
    if (broken) await this.#fail(await this.#exitProblem());
  }

  async finish(): Promise<void> {
    if (this.#writtenBytes !== this.#expectedBytes) await this.#fail(this.#frameCountProblem());
    this.#group.child.stdin.end();
    const exit = await this.#group.exited;
    if (exit.code !== 0) await this.#fail(await this.#exitProblem());
    await syncFile(this.#path);
    this.#finished = true;
  }

  async abort(): Promise<void> {
    if (this.#finished) return;
    this.#group.kill();
    await this.#group.exited;
    await rm(this.#path, { force: true });
  }

  async #fail(problem: string): Promise<never> {
    await this.abort();
    throwIfCancelled(this.#signal);
    throw encodingError(problem);
  }

  async #exitProblem(): Promise<string> {
    const exit = await this.#group.exited;
    return `ffmpeg stopped early: ${describeExit(exit, this.#group.stderrTail())}`;
  }

  #frameCountProblem(): string {
    const written = this.#writtenBytes / this.#frameBytes;
    return `clip must have ${this.#expectedBytes / this.#frameBytes} frames, got ${written}`;
  }
}

function checkedFormat(options: EncoderOptions): ClipFormat {
  const { width, height, frameCount, frameRate = FRAME_RATE } = options;
  const wrong =
    !isEven({ width, height }) ||
    [frameCount, frameRate].some((count) => !Number.isInteger(count) || count < 1);
  if (wrong)
    throw new JobError(
      "encoder_failed",
      `clip must have even sides and whole counts, got ${width} × ${height}, ${frameCount} frames at ${frameRate}`,
    );
  return { width, height, frameCount, frameRate };
}

function checkedSize({ width, height }: ClipSize): ClipSize {
  if (isEven({ width, height })) return { width, height };
  throw new JobError("encoder_failed", `clip must have even sides, got ${width} × ${height}`);
}

function isEven({ width, height }: ClipSize): boolean {
  return [width, height].every((side) => Number.isInteger(side) && side >= 2 && side % 2 === 0);
}

async function syncFile(path: string): Promise<void> {
  const file = await open(path, "r+");
  try {
    await file.sync();
  } finally {
    await file.close();
  }
}
