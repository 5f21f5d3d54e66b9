import { JobError } from "../../core/errors.js";

/** What is changed on logits before a token is chosen. */
export interface LogitEdits {
  readonly frequencyPenalty: number;
  readonly presencePenalty: number;
  /** Divides what speaks for a token of prompt or answer; 1 changes nothing (CTRL, arXiv 1909.05858). */
  readonly repetitionPenalty: number;
  readonly bias: ReadonlyMap<number, number>;
}

/** How often each token stands in the answer, and which stand in the prompt. */
export interface SeenTokens {
  readonly counts: ReadonlyMap<number, number>;
  readonly prompt: ReadonlySet<number>;
}

/** Changes the logits in place; only the tokens that are concerned are touched. */
export function editLogits(logits: Float32Array, edits: LogitEdits, seen: SeenTokens): void {
  const { repetitionPenalty, frequencyPenalty, presencePenalty, bias } = edits;
  if (repetitionPenalty !== 1) {
    for (const id of seen.prompt) penalizeRepetition(logits, id, repetitionPenalty);
    for (const id of seen.counts.keys())
      if (!seen.prompt.has(id)) penalizeRepetition(logits, id, repetitionPenalty);
  }
  if (frequencyPenalty !== 0 || presencePenalty !== 0) {
    for (const [id, count] of seen.counts)
      logits[id] = (logits[id] ?? 0) - frequencyPenalty * count - presencePenalty;
  }
  for (const [id, value] of bias) if (id < logits.length) logits[id] = (logits[id] ?? 0) + value;
}

function penalizeRepetition(logits: Float32Array, id: number, penalty: number): void {
  if (id >= logits.length) return;
  const value = logits[id] ?? 0;
  logits[id] = value < 0 ? value * penalty : value / penalty;
}

/** Sets the logits of barred tokens to −∞. Throws `invalid_output` where none is left. */
export function maskLogits(logits: Float32Array, allowed: Int32Array | Uint32Array): void {
  let isAnyAllowed = false;
  for (let word = 0, id = 0; id < logits.length; word += 1, id += 32) {
    const bits = allowed[word] ?? 0;
    if (bits !== 0) isAnyAllowed = true;
    const end = Math.min(id + 32, logits.length);
    if (bits === 0) logits.fill(-Infinity, id, end);
    else if (~bits !== 0) maskWord(logits, id, bits);
  }
  if (!isAnyAllowed) throw new JobError("invalid_output", "the grammar allows no token to follow");
}

function maskWord(logits: Float32Array, first: number, bits: number): void {
  const count = Math.min(32, logits.length - first);
  for (let bit = 0; bit < count; bit += 1)
    if (((bits >>> bit) & 1) === 0) logits[first + bit] = -Infinity;
}
