import type { SessionThread } from "../../runtime/ort/session.js";
import { type CodeSampler, createColumnDecoder, type TextStates } from "./decoder.js";
import type { Codes, PieceProgress } from "../music/music-model.js";
import type { MusicgenSettings } from "./settings.js";

export interface CodesPlan {
  readonly settings: MusicgenSettings;
  readonly text: TextStates;
  readonly frames: number;
  readonly sampler: CodeSampler;
  readonly signal: AbortSignal;
}

interface WindowTask extends CodesPlan {
  readonly sessions: SessionThread;
  readonly window: CodeWindow;
  /** Codes of the whole piece [codebooks, frames]; the window's own are written into it. */
  readonly codes: Codes;
}

/** Codes of a piece, column by column. */
export async function* makeCodes(
  sessions: SessionThread,
  plan: CodesPlan,
): AsyncGenerator<PieceProgress, Codes> {
  const { settings, frames } = plan;
  const codes = { values: new Int32Array(settings.codebooks * frames), frames };
  const windows = planWindows(frames, settings);
  const stepsOf = (window: CodeWindow) =>
    columnCount({ ...settings, frames: window.frames }) - 1 - window.known;
  const total = windows.reduce((sum, window) => sum + stepsOf(window), 0);
  let done = 0;
  for (const window of windows)
    for await (const steps of makeWindow({ ...plan, sessions, window, codes })) {
      done += steps;
      yield { type: "progress", part: "codes", fraction: done / total };
    }
  return codes;
}

/** Yields 1 a step. The first run reads everything known, each later one a column; codes come out one column ahead. */
async function* makeWindow(task: WindowTask): AsyncGenerator<number> {
  const { settings, window, text, sessions, signal } = task;
  const { codebooks, channels } = settings;
  const pattern: DelayPattern = { codebooks, channels, frames: window.frames };
  const columns = columnCount(pattern);
  const decoder = createColumnDecoder(sessions, text, settings);
  try {
    let fed = readColumns(task, pattern, { from: 0, to: window.known + 1 });
    for (let column = window.known + 1; column < columns; column++) {
      signal.throwIfAborted();
      const logits = await decoder.feed(fed, fed.length / codebooks);
      signal.throwIfAborted();
      for (let row = 0; row < codebooks; row++) {
        const frame = frameAt(pattern, row, column);
        if (frame === undefined || frame < window.known) continue;
        const place = { codebook: row, frame: window.start + frame };
        task.codes.values[indexOf(task, row, frame)] = task.sampler.sample(logits, place);
      }
      fed = readColumns(task, pattern, { from: column, to: column + 1 });
      yield 1;
    }
  } finally {
    decoder.close();
  }
}

/** Columns of the window as the decoder reads them [codebooks, to − from], padding included. */
function readColumns(
  task: WindowTask,
  pattern: DelayPattern,
  { from, to }: { readonly from: number; readonly to: number },
): Int32Array {
  const count = to - from;
  const columns = new Int32Array(pattern.codebooks * count);
  for (let row = 0; row < pattern.codebooks; row++) {
    for (let index = 0; index < count; index++) {
      const frame = frameAt(pattern, row, from + index);
      columns[row * count + index] =
        frame === undefined
          ? task.settings.padId
          : (task.codes.values[indexOf(task, row, frame)] ?? 0);
    }
  }
  return columns;
}

function indexOf({ codes, window }: WindowTask, row: number, frame: number): number {
  return row * codes.frames + window.start + frame;
}

/** How rows of codes lie in the columns a decoder reads: codebook k starts k columns late. */
export interface DelayPattern {
  /** Rows of codes, those of both channels together. */
  readonly codebooks: number;
  readonly channels: 1 | 2;
  /** Frames of the piece. */
  readonly frames: number;
}

/**
 * Columns of a piece: one of padding, its frames, and as many as the last codebook is late
 * (MusicGen, arXiv 2306.05284, section 2.2).
 */
export function columnCount({ codebooks, channels, frames }: DelayPattern): number {
  return frames + codebooks / channels;
}

/**
 * The frame whose code stands in a row at a column; undefined where the row is padded. Both channels of a
 * stereo model have the same delay: their rows alternate.
 */
export function frameAt(pattern: DelayPattern, row: number, column: number): number | undefined {
  const frame = column - 1 - Math.floor(row / pattern.channels);
  return frame >= 0 && frame < pattern.frames ? frame : undefined;
}

/** One stretch of frames made in one go; the first `known` of them were made before. */
interface CodeWindow {
  /** Where it begins in the piece. */
  readonly start: number;
  readonly frames: number;
  readonly known: number;
}

/** Windows that make a piece of any length: each goes on from the last frames of the one before. */
export function planWindows(
  totalFrames: number,
  {
    windowFrames,
    overlapFrames,
  }: { readonly windowFrames: number; readonly overlapFrames: number },
): CodeWindow[] {
  const windows: CodeWindow[] = [];
  for (let made = 0; made < totalFrames;) {
    const known = Math.min(made, overlapFrames);
    const frames = Math.min(windowFrames, known + totalFrames - made);
    windows.push({ start: made - known, frames, known });
    made += frames - known;
  }
  return windows;
}
