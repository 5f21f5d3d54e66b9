import type { Spelled } from "./search.js";

/** Steps [first, end) in which a word sounds. */
export interface WordPlace {
  readonly first: number;
  readonly end: number;
}

/** One phone of a word, or the silence that may stand before the word (-1: none after the last). */
interface Unit {
  readonly phone: number;
  readonly word: number;
}

const SILENCE = 0;
const STAY = 0;
const ADVANCE = 1;
const SKIP = 2;

/**
 * Where each word sounds: the likeliest path of `states`, which has silence first, through the words'
 * phones in order, with silence between words where there is some. Undefined where the sound is too
 * short for the phones.
 */
export function alignWords(
  states: Spelled,
  words: readonly (readonly number[])[],
): WordPlace[] | undefined {
  const units = words.flatMap((phones, word): Unit[] => [
    { phone: SILENCE, word },
    ...phones.map((phone) => ({ phone, word })),
  ]);
  units.push({ phone: SILENCE, word: -1 });
  const path = bestPath(states, units);
  if (path === undefined) return undefined;
  const places = words.map(() => ({ first: states.steps, end: 0 }));
  for (const [step, unit] of path.entries()) {
    const { phone, word } = units[unit] ?? { phone: SILENCE, word: -1 };
    const place = places[word];
    if (place === undefined || phone === SILENCE) continue;
    place.first = Math.min(place.first, step);
    place.end = step + 1;
  }
  return places;
}

/** The unit at each step. */
function bestPath({ logprobs, steps, phones }: Spelled, units: readonly Unit[]) {
  const count = units.length;
  const moves = new Uint8Array(steps * count);
  let scores = new Float64Array(count).fill(-Infinity);
  for (let step = 0; step < steps; step++) {
    const now = new Float64Array(count);
    for (let unit = 0; unit < count; unit++) {
      const { score, move } = step === 0 ? opening(unit) : arrive(scores, units, unit);
      moves[step * count + unit] = move;
      now[unit] = score + (logprobs[step * phones + (units[unit]?.phone ?? SILENCE)] ?? -Infinity);
    }
    scores = now;
  }
  const isSilentEnd = (scores[count - 1] ?? -Infinity) > (scores[count - 2] ?? -Infinity);
  const last = isSilentEnd ? count - 1 : count - 2;
  if (!((scores[last] ?? -Infinity) > -Infinity)) return undefined;
  return traceBack(moves, { steps, count, last });
}

/** A path begins with the silence before the first word, or with the word. */
function opening(unit: number) {
  return { score: unit <= 1 ? 0 : -Infinity, move: STAY };
}

function arrive(scores: Float64Array, units: readonly Unit[], unit: number) {
  const stay = scores[unit] ?? -Infinity;
  const advance = scores[unit - 1] ?? -Infinity;
  const canSkip = units[unit - 1]?.phone === SILENCE && units[unit]?.phone !== SILENCE;
  const skip = canSkip ? (scores[unit - 2] ?? -Infinity) : -Infinity;
  const score = Math.max(stay, advance, skip);
  return { score, move: score === stay ? STAY : score === advance ? ADVANCE : SKIP };
}

function traceBack(
  moves: Uint8Array,
  { steps, count, last }: { readonly steps: number; readonly count: number; readonly last: number },
): Int32Array {
  const path = new Int32Array(steps);
  let unit = last;
  for (let step = steps - 1; step >= 0; step--) {
    path[step] = unit;
    unit -= moves[step * count + unit] ?? STAY;
  }
  return path;
}
