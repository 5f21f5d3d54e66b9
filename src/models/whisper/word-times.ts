import type { CrossAttention } from "./decoder.js";

/** Tokens [first, end) that make a word, with the space before it and the punctuation around it. */
interface WordSpan {
  readonly text: string;
  readonly first: number;
  readonly end: number;
}

/** Written without spaces: each character is a word. */
const SPACELESS = new Set(["zh", "ja", "th", "lo", "my", "yue"]);
const OPENING = /^\s*["'“‘¿¡([{«„-]+$/u;
const CLOSING = /^["'.。,,，!！?？::：;；”’)\]}»、…]+$/u;

/**
 * Groups tokens into words: at spaces, or at every character of languages that have none. Tokens that
 * are parts of one character stay together; punctuation joins the word that it belongs to.
 */
export function groupWords(
  ids: readonly number[],
  decode: (ids: readonly number[]) => string,
  language: string | null,
): WordSpan[] {
  const characters = wholeCharacters(ids, decode);
  const words: WordSpan[] = [];
  for (const part of characters) {
    const last = words.at(-1);
    const startsWord = SPACELESS.has(language ?? "") || /^\s/.test(part.text);
    if (last !== undefined && !startsWord) words.splice(-1, 1, joined(last, part));
    else words.push(part);
  }
  return joinPunctuation(words);
}

/** The smallest runs of tokens that decode to whole characters. */
function wholeCharacters(
  ids: readonly number[],
  decode: (ids: readonly number[]) => string,
): WordSpan[] {
  const parts: WordSpan[] = [];
  let first = 0;
  for (let end = 1; end <= ids.length; end++) {
    const text = decode(ids.slice(first, end));
    if (text.includes("\u{fffd}") && end < ids.length) continue;
    parts.push({ text, first, end });
    first = end;
  }
  return parts;
}

function joinPunctuation(words: readonly WordSpan[]): WordSpan[] {
  const all: WordSpan[] = [];
  for (const word of words) {
    const last = all.at(-1);
    const belongs = last !== undefined && (CLOSING.test(word.text) || OPENING.test(last.text));
    if (belongs && !/^\s/.test(word.text)) all.splice(-1, 1, joined(last, word));
    else all.push(word);
  }
  return all;
}

function joined(one: WordSpan, next: WordSpan): WordSpan {
  return { text: one.text + next.text, first: one.first, end: next.end };
}

interface AlignmentInput {
  /** Attention weights of each layer; all of the same tokens. */
  readonly layers: readonly CrossAttention[];
  /** [layer, head] of those that follow the sound. */
  readonly heads: readonly (readonly [number, number])[];
  /** Tokens [first, end) whose places are wanted. */
  readonly first: number;
  readonly end: number;
  /** Frames that hold sound, 50 a second. */
  readonly frames: number;
}

const MEDIAN_WIDTH = 7;

/**
 * The frame at which each token begins to be attended: weights of the alignment heads, standardised
 * over the tokens, smoothed by a median over time, averaged, and warped to a monotonic path (as the
 * released Whisper times words).
 */
export function alignTokens(input: AlignmentInput): Int32Array {
  const { layers, heads, first, end } = input;
  const rows = end - first;
  const columns = Math.max(1, Math.min(input.frames, layers[0]?.frames ?? 1));
  const sum = new Float32Array(rows * columns);
  for (const [layer, head] of heads) {
    const attention = layers[layer];
    if (attention === undefined || head >= attention.heads) continue;
    const map = headMap(attention, head, columns);
    standardise(map, columns);
    for (let row = 0; row < rows; row++) {
      const smooth = medianFilter(
        map.subarray((first + row) * columns, (first + row + 1) * columns),
      );
      for (let at = 0; at < columns; at++)
        sum[row * columns + at] = (sum[row * columns + at] ?? 0) + (smooth[at] ?? 0);
    }
  }
  return warpRows(sum, rows, columns);
}

/** One head's weights [tokens, columns], each token's sum over the sound made 1. */
function headMap({ weights, heads, frames }: CrossAttention, head: number, columns: number) {
  const tokens = weights.length / (heads * frames);
  const map = new Float32Array(tokens * columns);
  for (let token = 0; token < tokens; token++) {
    const from = (head * tokens + token) * frames;
    const row = weights.subarray(from, from + columns);
    const total = row.reduce((sum, weight) => sum + weight, 0) || 1;
    for (let at = 0; at < columns; at++) map[token * columns + at] = (row[at] ?? 0) / total;
  }
  return map;
}

/** Each column to mean 0 and variance 1. */
function standardise(map: Float32Array, columns: number): void {
  const rows = map.length / columns;
  for (let column = 0; column < columns; column++) {
    let sum = 0;
    let squares = 0;
    for (let at = column; at < map.length; at += columns) {
      sum += map[at] ?? 0;
      squares += (map[at] ?? 0) ** 2;
    }
    const mean = sum / rows;
    const deviation = Math.sqrt(Math.max(squares / rows - mean ** 2, 0)) || 1;
    for (let at = column; at < map.length; at += columns)
      map[at] = ((map[at] ?? 0) - mean) / deviation;
  }
}

/** Median of seven neighbours; the ends are mirrored. */
function medianFilter(row: Float32Array): Float32Array {
  const reach = (MEDIAN_WIDTH - 1) / 2;
  if (row.length <= reach) return row;
  const mirrored = (at: number) => {
    const positive = Math.abs(at);
    return positive < row.length ? positive : 2 * (row.length - 1) - positive;
  };
  const around = new Float32Array(MEDIAN_WIDTH);
  return row.map((_, at) => {
    for (let step = 0; step < MEDIAN_WIDTH; step++)
      around[step] = row[mirrored(at + step - reach)] ?? 0;
    return around.toSorted()[reach] ?? 0;
  });
}

/**
 * For each row of `scores` [rows, columns], the first column of the cheapest monotonic path from the
 * first corner to the last that collects the greatest scores (dynamic time warping).
 */
export function warpRows(scores: Float32Array, rows: number, columns: number): Int32Array {
  const moves = costMoves(scores, rows, columns);
  const firsts = new Int32Array(rows);
  let row = rows - 1;
  let column = columns - 1;
  while (row >= 0 && column >= 0) {
    firsts[row] = column;
    const move = row === 0 ? LEFT : column === 0 ? UP : moves[row * columns + column];
    if (move !== LEFT) row--;
    if (move !== UP) column--;
  }
  return firsts;
}

const DIAGONAL = 0;
const UP = 1;
const LEFT = 2;

/** How the cheapest path comes to each cell; the cost of a cell is minus its score. */
function costMoves(scores: Float32Array, rows: number, columns: number): Uint8Array {
  const moves = new Uint8Array(rows * columns);
  let above = new Float64Array(columns + 1).fill(Infinity);
  let present = new Float64Array(columns + 1);
  above[0] = 0;
  for (let row = 0; row < rows; row++) {
    present[0] = Infinity;
    for (let column = 0; column < columns; column++) {
      const diagonal = above[column] ?? Infinity;
      const up = above[column + 1] ?? Infinity;
      const left = present[column] ?? Infinity;
      const least = Math.min(diagonal, up, left);
      const move = least === diagonal ? DIAGONAL : least === up ? UP : LEFT;
      moves[row * columns + column] = move;
      present[column + 1] = least - (scores[row * columns + column] ?? 0);
    }
    [above, present] = [present, above];
  }
  return moves;
}
