import { bandPower, logarithmicBands, powerSpectra } from "./music-spectra.js";

/** Rate that tempo, key and instruments are heard at, Hz. */
export const MUSIC_RATE_HZ = 22_050;
const FRAMES = { frameSamples: 1_024, hopSamples: 220 };
const SCALE = { bands: 24, lowestHz: 40, highestHz: 9_000 };
/** Frames on either side whose mean is the floor of an onset. */
const FLOOR_REACH = 40;
/** Multiples of a beat at which the sound must resemble itself. */
const MULTIPLES = 8;
const STEP = 1.0025;

/**
 * The beats a minute at which onsets repeat most clearly, within half an octave of what was asked for
 * (which metrical level counts as the beat cannot be heard); mono samples at `MUSIC_RATE_HZ`.
 */
export function hearTempo(samples: Float32Array, askedBpm: number): number {
  const onsets = onsetCurve(samples);
  const framesPerMinute = (60 * MUSIC_RATE_HZ) / FRAMES.hopSamples;
  let best = { bpm: Number.NaN, score: -Infinity };
  for (let bpm = askedBpm / Math.SQRT2; bpm <= askedBpm * Math.SQRT2; bpm *= STEP) {
    const score = combScore(onsets, framesPerMinute / bpm);
    if (score > best.score) best = { bpm, score };
  }
  return best.bpm;
}

/** How much louder the bands get from frame to frame, above the mean around. */
function onsetCurve(samples: Float32Array): Float64Array {
  const lines = FRAMES.frameSamples / 2 + 1;
  const lineHz = MUSIC_RATE_HZ / FRAMES.frameSamples;
  const bands = logarithmicBands({ ...SCALE, lineHz }, lines);
  const levels = powerSpectra(samples, FRAMES).map((powers) =>
    bands.map((weights) => Math.log(1e-4 + bandPower(powers, weights))),
  );
  const rises = levels.map((level, at) => {
    const before = levels[at - 1] ?? level;
    return level.reduce((sum, value, band) => sum + Math.max(0, value - (before[band] ?? 0)), 0);
  });
  return Float64Array.from(rises, (rise, at) => {
    const around = rises.slice(Math.max(0, at - FLOOR_REACH), at + FLOOR_REACH + 1);
    return Math.max(0, rise - around.reduce((sum, other) => sum + other, 0) / around.length);
  });
}

/** Mean resemblance of the curve to itself after 1 to 8 periods. */
function combScore(onsets: Float64Array, period: number): number {
  let score = 0;
  let count = 0;
  for (let multiple = 1; multiple <= MULTIPLES; multiple += 1) {
    const lag = multiple * period;
    if (lag > onsets.length * 0.75) break;
    score += resemblance(onsets, lag);
    count += 1;
  }
  return count === 0 ? -Infinity : score / count;
}

/** Autocorrelation at a lag with a fraction, as a share of the power. */
function resemblance(onsets: Float64Array, lag: number): number {
  const whole = Math.floor(lag);
  const share = lag - whole;
  let [sum, power, count] = [0, 0, 0];
  for (let at = 0; at + whole + 1 < onsets.length; at += 1) {
    const here = onsets[at] ?? 0;
    const later = (onsets[at + whole] ?? 0) * (1 - share) + (onsets[at + whole + 1] ?? 0) * share;
    sum += here * later;
    power += here * here;
    count += 1;
  }
  return count === 0 ? 0 : sum / (power + 1e-9);
}
