import { JobError } from "../../core/errors.js";
import { type Graphs, KeptValues } from "../../runtime/ort/graphs.js";
import type { Feeds } from "../../runtime/ort/session.js";
import { bool, float32, floatsOf, int64, type Tensor } from "../../runtime/tensors/tensor.js";
import type { Codes, PieceProgress } from "../music/music-model.js";
import { randomStream } from "../sampling/noise.js";
import { TokenSampler } from "../sampling/token-sampler.js";
import type { CodeSampling, MusicgenSettings } from "./settings.js";

/** Text states of one job for every row of the batch: conditional, then unconditional where guided. */
export interface TextStates {
  readonly batch: number;
  /** [batch, tokens, width]. */
  readonly states: Tensor;
  /** [batch, tokens], 1 where there is a token; all 0 for the unconditional half. */
  readonly mask: Tensor;
}

/** Logits after the last column fed: one row of codes a codebook, for each row of the batch. */
interface ColumnLogits {
  readonly values: Float32Array;
  readonly codes: number;
  /** Where the logits of a batch row's codebook begin in `values`. */
  offsetOf(batchRow: number, codebook: number): number;
}

/** One run of the decoder over the columns of a window; its caches stay where the graphs run. */
interface ColumnDecoder {
  /** Reads `count` columns [codebooks, count] and says what comes next. */
  feed(columns: ArrayLike<number>, count: number): Promise<ColumnLogits>;
  /** Frees the caches, and what all runs share. */
  close(): void;
}

const PRESENT = "present.";
const PAST = "past_key_values.";

/**
 * Serves a merged graph (both phases behind `use_cache_branch`) or a pair of them. Encoder caches are kept
 * from the first run only: the cached branch of a merged graph answers with empty ones.
 */
export function createColumnDecoder(
  sessions: Graphs,
  text: TextStates,
  settings: MusicgenSettings,
): ColumnDecoder {
  const isMerged = "decoder-merged" in sessions.info;
  const firstRole = isMerged ? "decoder-merged" : "decoder";
  const nextRole = isMerged ? "decoder-merged" : "decoder-with-past";
  const firstKeep = presentsOf(sessions, firstRole);
  const nextKeep = firstKeep.filter((name) => name.includes(".decoder."));
  const common = {
    encoder_hidden_states: text.states,
    encoder_attention_mask: text.mask,
  };
  const shared = new Map(
    [...new Set([firstRole, nextRole])].map((role) => [role, sessions.place(role, common)]),
  );
  const noPasts = emptyPasts(sessions, firstRole, { text, settings });
  const caches = new KeptValues();
  let isFirst = true;

  return {
    async feed(columns, count) {
      const isStart = isFirst;
      isFirst = false;
      const role = isStart ? firstRole : nextRole;
      const feeds = {
        ...shared.get(role),
        ...(isStart ? noPasts : caches.values),
        input_ids: repeatIds(columns, [text.batch, settings.codebooks, count]),
        use_cache_branch: bool([!isStart], [1]),
      };
      const { tensors, values } = await sessions.step(role, feeds, {
        keep: isStart ? firstKeep : nextKeep,
        fetch: ["logits"],
      });
      caches.put(values, (present) => PAST + present.slice(PRESENT.length));
      return readLogits(floatsOf(tensors, "logits"), tensors["logits"]?.dims ?? [], settings);
    },
    close() {
      caches.close();
      for (const values of shared.values())
        for (const value of Object.values(values)) value.close();
    },
  };
}

/** Names of a graph's cache outputs. */
function presentsOf(sessions: Graphs, role: string): string[] {
  const outputs = sessions.info[role]?.outputs ?? [];
  return outputs.map(({ name }) => name).filter((name) => name.startsWith(PRESENT));
}

/** A merged graph wants its caches even where it has none yet: [batch, heads, 0, head size]. */
function emptyPasts(
  sessions: Graphs,
  role: string,
  { text, settings }: { readonly text: TextStates; readonly settings: MusicgenSettings },
): Feeds {
  const inputs = (sessions.info[role]?.inputs ?? []).filter(({ name }) => name.startsWith(PAST));
  const size = (dim: number | string | undefined, other: number) =>
    typeof dim === "number" ? dim : other;
  return Object.fromEntries(
    inputs.map(({ name, dims }) => {
      const shape = [
        text.batch,
        size(dims[1], settings.heads),
        0,
        size(dims[3], settings.headSize),
      ];
      return [name, float32(new Float32Array(0), shape)];
    }),
  );
}

/** The same columns for every row of the batch: int64 [batch × codebooks, count]. */
function repeatIds(
  columns: ArrayLike<number>,
  [batch, codebooks, count]: readonly [number, number, number],
): Tensor {
  const ids = new BigInt64Array(batch * codebooks * count);
  for (let index = 0; index < ids.length; index++)
    ids[index] = BigInt(columns[index % (codebooks * count)] ?? 0);
  return int64(ids, [batch * codebooks, count]);
}

/** Logits [batch × codebooks, columns, codes]; only those after the last column are looked at. */
function readLogits(
  values: Float32Array,
  dims: readonly number[],
  { codebooks }: MusicgenSettings,
): ColumnLogits {
  const [, columns = 1, codes = 0] = dims;
  const offsetOf = (batchRow: number, codebook: number) =>
    ((batchRow * codebooks + codebook + 1) * columns - 1) * codes;
  return { values, codes, offsetOf };
}

/** Where a code stands in the piece. */
interface CodePlace {
  readonly codebook: number;
  /** Counted from the start of the piece. */
  readonly frame: number;
}

/** Chooses the code at a place. Throws `invalid_output` where the logits are not numbers. */
interface CodeSampler {
  sample(logits: ColumnLogits, place: CodePlace): number;
}

/**
 * Guidance, then a draw among the likeliest codes. Each place has its own random number, whatever was
 * drawn before it.
 */
export function createCodeSampler(
  { guidance, topK, temperature }: CodeSampling,
  seed: number,
): CodeSampler {
  const settings = { temperature, topK, topP: 1, minP: 0 };
  let scores = new Float32Array(0);
  let sampler = new TokenSampler(0);
  return {
    sample(logits, { codebook, frame }) {
      if (scores.length !== logits.codes) {
        scores = new Float32Array(logits.codes);
        sampler = new TokenSampler(logits.codes);
      }
      guideInto(scores, logits, { codebook, guidance });
      return sampler.choose(scores, settings, randomStream(seed, codebook).at(frame));
    },
  };
}

/** Writes uncond + guidance × (cond − uncond). */
function guideInto(
  scores: Float32Array,
  logits: ColumnLogits,
  { codebook, guidance }: { readonly codebook: number; readonly guidance: number },
): void {
  const { values } = logits;
  const conditional = logits.offsetOf(0, codebook);
  const unconditional = guidance === 1 ? conditional : logits.offsetOf(1, codebook);
  for (let code = 0; code < scores.length; code++) {
    const without = values[unconditional + code] ?? Number.NaN;
    const score = without + guidance * ((values[conditional + code] ?? Number.NaN) - without);
    if (!Number.isFinite(score))
      throw new JobError("invalid_output", "the decoder produced logits that are not numbers");
    scores[code] = score;
  }
}

interface CodesPlan {
  readonly settings: MusicgenSettings;
  readonly text: TextStates;
  readonly frames: number;
  readonly sampler: CodeSampler;
  readonly signal: AbortSignal;
}

interface WindowTask extends CodesPlan {
  readonly sessions: Graphs;
  readonly window: CodeWindow;
  /** Codes of the whole piece [codebooks, frames]; the window's own are written into it. */
  readonly codes: Codes;
}

/** Codes of a piece, column by column. */
export async function* makeCodes(
  sessions: Graphs,
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
