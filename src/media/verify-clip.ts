import { readFile } from "node:fs/promises";
import { JobError, messageOf } from "../core/errors.js";
import { FRAME_RATE } from "./encoder.js";
import { type Box, hasIndexFirst, readBoxes, viewOf } from "./mp4.js";
import type { AudioTrack, MediaInfo, VideoTrack } from "./probe.js";

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

/**
 * Reads a finished clip, index and frames, which takes a millisecond where ffprobe takes 40 to start.
 * Throws `encoder_failed` with a sentence that names everything that differs.
 */
export async function verifyClip(path: string, expectation: ClipExpectation): Promise<MediaInfo> {
  const expected = { frameRate: FRAME_RATE, ...expectation };
  const info = readClip(await readFile(path));
  const differences = [...videoDifferences(info, expected), ...soundDifferences(info, expected)];
  if (!info.fastStart) differences.push("moov must come before mdat");
  if (differences.length > 0)
    throw new JobError("encoder_failed", `clip is not as ordered: ${differences.join("; ")}`);
  return info;
}

function videoDifferences(info: MediaInfo, expected: Required<ClipExpectation>): string[] {
  const { video } = info;
  if (video === undefined) return ["it has no video track"];
  const seconds = expected.frameCount / expected.frameRate;
  return [
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

function readClip(bytes: Uint8Array): MediaInfo {
  try {
    const file = new ClipFile(bytes);
    const tracks = file.boxes("moov").filter(({ type }) => type === "trak");
    const kinds = tracks.map((track) => [file.kindOf(track), track] as const);
    const [video, audio] = ["vide", "soun"].map((kind) => kinds.find(([own]) => own === kind)?.[1]);
    return {
      container: "mp4",
      durationSeconds: file.movie.duration / file.movie.scale,
      ...(video && { video: file.readVideo(video) }),
      ...(audio && { audio: file.readAudio(audio) }),
      fastStart: hasIndexFirst(bytes),
    };
  } catch (cause) {
    throw new JobError("encoder_failed", `clip is no whole MP4: ${messageOf(cause)}`, { cause });
  }
}

/** A count of ticks, and how many of them a second has. */
interface Duration {
  readonly scale: number;
  readonly duration: number;
}

/** Bytes of the file, without `end`. */
interface Extent {
  readonly start: number;
  readonly end: number;
}

/** The boxes of ISO/IEC 14496-12 and -15 that say what a clip is. Throws where one is missing or broken. */
class ClipFile {
  readonly #view: DataView;
  readonly #file: Box;
  readonly movie: Duration;

  constructor(bytes: Uint8Array) {
    this.#view = viewOf(bytes);
    this.#file = { type: "file", start: 0, content: 0, end: bytes.byteLength };
    this.movie = this.#durationOf(this.#find(this.#file, "moov", "mvhd"));
  }

  /** Boxes inside one of the file's. */
  boxes(type: string): Box[] {
    return this.#inside(this.#find(this.#file, type));
  }

  kindOf(track: Box): string {
    return this.#text(this.#find(track, "mdia", "hdlr").content + 8);
  }

  readVideo(track: Box): VideoTrack {
    const entry = this.#entryOf(track);
    const table = this.#find(track, "mdia", "minf", "stbl");
    const { scale } = this.#durationOf(this.#find(track, "mdia", "mdhd"));
    const frames = this.#samplesOf(table);
    // Of a visual sample entry, what follows its 78 bytes.
    const settings = { ...entry, content: entry.content + 78 };
    const isH264 = entry.type === "avc1";
    if (isH264) this.#checkFrames(frames);
    return {
      codec: isH264 ? "h264" : entry.type,
      width: this.#view.getUint16(entry.content + 24),
      height: this.#view.getUint16(entry.content + 26),
      pixelFormat: isH264
        ? this.#pixelFormatOf(this.#find(settings, "avcC").content + 8)
        : "unknown",
      frameRate: (frames.length * scale) / this.#ticksOf(table),
      frameCount: frames.length,
      durationSeconds: this.#secondsOf(track),
    };
  }

  readAudio(track: Box): AudioTrack {
    const entry = this.#entryOf(track);
    this.#samplesOf(this.#find(track, "mdia", "minf", "stbl"));
    return {
      codec: entry.type === "mp4a" ? "aac" : entry.type,
      sampleRateHz: this.#view.getUint32(entry.content + 24) / 2 ** 16,
      channels: this.#view.getUint16(entry.content + 16),
      durationSeconds: this.#secondsOf(track),
    };
  }

  #inside({ content, end }: Box): Box[] {
    return readBoxes(this.#view, content, end);
  }

  #find(from: Box, ...path: readonly string[]): Box {
    return path.reduce((box, type) => {
      const found = this.#inside(box).find((inner) => inner.type === type);
      if (found === undefined) throw new Error(`it has no ${path.join(".")}`);
      return found;
    }, from);
  }

  #text(at: number): string {
    return String.fromCharCode(...[0, 1, 2, 3].map((index) => this.#view.getUint8(at + index)));
  }

  /** 64-bit times stand in version 1, 32-bit times in version 0. */
  #time(at: number, isLong: boolean): number {
    return isLong ? Number(this.#view.getBigUint64(at)) : this.#view.getUint32(at);
  }

  #isLong({ content }: Box): boolean {
    return this.#view.getUint8(content) === 1;
  }

  #durationOf(head: Box): Duration {
    const isLong = this.#isLong(head);
    const at = head.content + (isLong ? 20 : 12);
    return { scale: this.#view.getUint32(at), duration: this.#time(at + 4, isLong) };
  }

  /** What is shown of the track, after its edits. */
  #secondsOf(track: Box): number {
    const head = this.#find(track, "tkhd");
    const isLong = this.#isLong(head);
    return this.#time(head.content + (isLong ? 28 : 20), isLong) / this.movie.scale;
  }

  #entryOf(track: Box): Box {
    const { content, end } = this.#find(track, "mdia", "minf", "stbl", "stsd");
    const [entry] = readBoxes(this.#view, content + 8, end);
    if (entry === undefined) throw new Error("a track has no format");
    return entry;
  }

  /** The table's entries of `width` numbers of 32 bits. */
  #rows(table: Box, width: number): number[][] {
    const count = this.#view.getUint32(table.content + 4);
    return Array.from({ length: count }, (_, row) =>
      Array.from({ length: width }, (__, column) =>
        this.#view.getUint32(table.content + 8 + 4 * (row * width + column)),
      ),
    );
  }

  #ticksOf(table: Box): number {
    const rows = this.#rows(this.#find(table, "stts"), 2);
    return rows.reduce((sum, [count = 0, ticks = 0]) => sum + count * ticks, 0);
  }

  /** Where each of a track's samples lies; all within the file. */
  #samplesOf(table: Box): Extent[] {
    const sizes = this.#sizesOf(table);
    const runs = this.#rows(this.#find(table, "stsc"), 3);
    const samples: Extent[] = [];
    for (const [index, start] of this.#chunksOf(table).entries()) {
      const run = runs.findLast(([first = 1]) => first <= index + 1);
      let at = start;
      for (let left = run?.[1] ?? 0; left > 0; left -= 1) {
        const end = at + (sizes[samples.length] ?? 0);
        if (end > this.#file.end || samples.length === sizes.length)
          throw new Error("it ends before its frames");
        samples.push({ start: at, end });
        at = end;
      }
    }
    if (samples.length !== sizes.length)
      throw new Error(`${sizes.length} samples have a size, ${samples.length} a place`);
    return samples;
  }

  #sizesOf(table: Box): number[] {
    const { content } = this.#find(table, "stsz");
    const same = this.#view.getUint32(content + 4);
    const count = this.#view.getUint32(content + 8);
    return Array.from({ length: count }, (_, index) =>
      same > 0 ? same : this.#view.getUint32(content + 12 + 4 * index),
    );
  }

  #chunksOf(table: Box): number[] {
    const long = this.#inside(table).find(({ type }) => type === "co64");
    if (long === undefined)
      return this.#rows(this.#find(table, "stco"), 1).map(([offset = 0]) => offset);
    return this.#rows(long, 2).map(([high = 0, low = 0]) => high * 2 ** 32 + low);
  }

  /** Every frame is whole units of H.264, each behind its length; the first frame is a key frame. */
  #checkFrames(frames: readonly Extent[]): void {
    for (const [index, { start, end }] of frames.entries()) {
      let isKey = false;
      let at = start;
      while (at + LENGTH_BYTES < end) {
        isKey ||= (this.#view.getUint8(at + LENGTH_BYTES) & 31) === KEY_FRAME;
        at += LENGTH_BYTES + this.#view.getUint32(at);
      }
      if (at !== end) throw new Error(`frame ${index} is broken`);
      if (index === 0 && !isKey) throw new Error("its first frame is no key frame");
    }
  }

  /** Of the first sequence parameter set (ITU-T H.264, 7.3.2.1.1), which begins at its unit's header. */
  #pixelFormatOf(start: number): string {
    if (SAMPLED_420.has(this.#view.getUint8(start + 1))) return "yuv420p";
    let bit = 8 * (start + 4);
    const next = () => (this.#view.getUint8(bit >> 3) >> (7 - (bit++ & 7))) & 1;
    const number = () => {
      let zeros = 0;
      while (next() === 0) zeros += 1;
      let value = 1;
      for (; zeros > 0; zeros -= 1) value = 2 * value + next();
      return value - 1;
    };
    const [, chroma, luma, colour] = [number(), number(), number(), number()] as const;
    const isUsual = chroma === 1 && luma === 0 && colour === 0;
    return isUsual ? "yuv420p" : `chroma format ${chroma} of ${8 + luma} bits`;
  }
}

/** Before each unit of a frame, as ffmpeg writes them. */
const LENGTH_BYTES = 4;
/** Type of a unit: a picture that is decoded without others. */
const KEY_FRAME = 5;
/** Profiles that know no other sampling: baseline, main, extended. */
const SAMPLED_420 = new Set([66, 77, 88]);
