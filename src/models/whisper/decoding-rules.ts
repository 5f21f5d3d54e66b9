import { JobError } from "../../core/errors.js";
import type { WhisperSettings } from "./settings.js";

/** Sets the logits of tokens that may not come next to -Infinity, given what was chosen so far. */
type TokenRules = (logits: Float32Array, chosen: readonly number[]) => void;

/**
 * What Whisper may say next (Radford et al. 2022 and its released decoder): nothing suppressed;
 * without times, no time tokens; with times, a time first (not late), then times in pairs around text,
 * never backwards, and a time as soon as all times together are likelier than any text.
 */
export function createTokenRules(settings: WhisperSettings, withTimestamps: boolean): TokenRules {
  const { suppressed, suppressedFirst, tokens } = settings;
  return (logits, chosen) => {
    for (const id of suppressed) logits[id] = -Infinity;
    if (chosen.length === 0) for (const id of suppressedFirst) logits[id] = -Infinity;
    if (withTimestamps) ruleTimestamps(logits, chosen, settings);
    else logits.fill(-Infinity, tokens.firstTimestamp);
  };
}

function ruleTimestamps(
  logits: Float32Array,
  chosen: readonly number[],
  { tokens, maxInitialTimestamp }: WhisperSettings,
): void {
  const { endOfText, firstTimestamp } = tokens;
  if (chosen.length === 0) {
    logits.fill(-Infinity, 0, firstTimestamp);
    logits.fill(-Infinity, firstTimestamp + maxInitialTimestamp + 1);
    return;
  }
  const isTime = (id: number | undefined) => id !== undefined && id >= firstTimestamp;
  const afterTime = isTime(chosen.at(-1));
  const isPairOpen = afterTime && chosen.length >= 2 && !isTime(chosen.at(-2));
  if (isPairOpen) logits.fill(-Infinity, 0, endOfText);
  else if (afterTime) logits.fill(-Infinity, firstTimestamp);
  const latest = chosen.findLast(isTime);
  // The end of a piece may be the start of the next, but no piece ends where it starts.
  if (latest !== undefined)
    logits.fill(-Infinity, firstTimestamp, isPairOpen ? latest : latest + 1);
  preferTimes(logits, firstTimestamp);
}

/** When the times together outweigh the likeliest text, only they stay. */
function preferTimes(logits: Float32Array, firstTimestamp: number): void {
  const text = greatest(logits, 0, firstTimestamp);
  if (logSumExp(logits, firstTimestamp, logits.length) > text)
    logits.fill(-Infinity, 0, firstTimestamp);
}

function greatest(values: Float32Array, from: number, to: number): number {
  let most = -Infinity;
  for (let at = from; at < to; at++) {
    const value = values[at] ?? -Infinity;
    if (value > most) most = value;
  }
  return most;
}

/** log Σ exp of the values [from, to); -Infinity for none. */
export function logSumExp(values: Float32Array, from: number, to: number): number {
  const most = greatest(values, from, to);
  if (!Number.isFinite(most)) return most;
  return most + Math.log(sumExp(values.subarray(from, to), most, 1));
}

interface Choice {
  readonly token: number;
  /** Natural logarithm of its probability at temperature 1. */
  readonly logprob: number;
}

/**
 * The likeliest token at temperature 0, else one drawn from the tempered distribution. Throws
 * `invalid_output` where the logits are not numbers or leave no choice.
 */
export function chooseToken(
  logits: Float32Array,
  temperature: number,
  random: () => number,
): Choice {
  const best = likeliest(logits);
  const most = logits[best] ?? Number.NaN;
  const total = Number.isFinite(most) ? sumExp(logits, most, 1) : Number.NaN;
  if (Number.isNaN(total))
    throw new JobError("invalid_output", "the decoder's scores are not numbers");
  const token = temperature === 0 ? best : draw(logits, temperature, { most, at: random() });
  return { token, logprob: (logits[token] ?? -Infinity) - most - Math.log(total) };
}

function likeliest(logits: Float32Array): number {
  let best = 0;
  let most = logits[0] ?? -Infinity;
  for (let id = 1; id < logits.length; id++) {
    const logit = logits[id] ?? -Infinity;
    if (logit > most) {
      most = logit;
      best = id;
    }
  }
  return best;
}

/** Below e^-40 nothing changes in a sum's 53 bits. */
const NEGLIGIBLE = -40;

/** Σ exp((logit - most) / temperature); NaN where one of them is. */
function sumExp(logits: Float32Array, most: number, temperature: number): number {
  let sum = 0;
  for (let id = 0; id < logits.length; id++) {
    const above = ((logits[id] ?? -Infinity) - most) / temperature;
    if (!(above <= NEGLIGIBLE)) sum += Math.exp(above);
  }
  return sum;
}

/** The token at the share `at`, in [0, 1), of the cumulated tempered probabilities. */
function draw(
  logits: Float32Array,
  temperature: number,
  { most, at }: { readonly most: number; readonly at: number },
): number {
  let rest = at * sumExp(logits, most, temperature);
  for (let id = 0; id < logits.length; id++) {
    const above = ((logits[id] ?? -Infinity) - most) / temperature;
    if (above <= NEGLIGIBLE) continue;
    rest -= Math.exp(above);
    if (rest < 0) return id;
  }
  return likeliest(logits);
}
