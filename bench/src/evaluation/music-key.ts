import { powerSpectra } from "./music-spectra.js";
import { MUSIC_RATE_HZ } from "./music-tempo.js";

export interface Key {
  /** Semitones above C. */
  readonly tonic: number;
  readonly mode: "major" | "minor";
}

const FRAMES = { frameSamples: 8_192, hopSamples: 2_048 };
const LOWEST_HZ = 60;
const HIGHEST_HZ = 1_600;
/** Temperley's revision of the key profiles, which knows the raised seventh of minor (Music Perception 17, 1999). */
const PROFILES = {
  major: [5, 2, 3.5, 2, 4.5, 4, 2, 4.5, 2, 3.5, 1.5, 4],
  minor: [5, 2, 3.5, 4.5, 2, 4, 2, 4.5, 3.5, 2, 1.5, 4],
} as const;
const TRIADS = {
  major: [1, 0, 0, 0, 1, 0, 0, 1, 0, 0, 0, 0],
  minor: [1, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0],
} as const;
/** Frames of the first and of the last chord, about a second. */
const CHORD_FRAMES = 6;
/** What the first and the last chord count beside the whole piece. */
const CHORD_WEIGHT = 0.5;
/** Share of the loudest frame below which a frame is silent. */
const SILENT = 0.05;

/** Strength of the twelve pitch classes in a frame. */
type PitchClasses = readonly number[];

/**
 * The key whose profile fits the piece's pitch classes best, and whose triad its first and its last chord:
 * relative keys share their notes, but not where a piece begins and ends; mono samples at `MUSIC_RATE_HZ`.
 */
export function hearKey(samples: Float32Array): Key {
  const frames = audible(powerSpectra(samples, FRAMES).map(pitchClasses));
  const whole = added(frames.map(scaledToOne));
  const chords = [frames.slice(0, CHORD_FRAMES), frames.slice(-CHORD_FRAMES)].map(added);
  let best: Key = { tonic: 0, mode: "major" };
  let most = -Infinity;
  for (const mode of ["major", "minor"] as const) {
    for (let tonic = 0; tonic < 12; tonic += 1) {
      const fits = chords.map((chord) => correlation(above(tonic, chord), TRIADS[mode]));
      const fit = fits.reduce(
        (total, one) => total + CHORD_WEIGHT * one,
        correlation(above(tonic, whole), PROFILES[mode]),
      );
      if (fit > most) [best, most] = [{ tonic, mode }, fit];
    }
  }
  return best;
}

/** Without the silence before and after. */
function audible(frames: readonly PitchClasses[]): readonly PitchClasses[] {
  const levels = frames.map(sumOf);
  const least = SILENT * Math.max(...levels);
  const isLoud = (level: number) => level >= least;
  return frames.slice(levels.findIndex(isLoud), levels.findLastIndex(isLoud) + 1);
}

/** Turned so that the tonic comes first. */
function above(tonic: number, classes: PitchClasses): number[] {
  return classes.map((_, degree) => classes[(tonic + degree) % 12] ?? 0);
}

/** Peaks of a spectrum by pitch class. */
function pitchClasses(powers: Float64Array): PitchClasses {
  const lineHz = MUSIC_RATE_HZ / FRAMES.frameSamples;
  const found = Array.from({ length: 12 }, () => 0);
  for (let line = Math.ceil(LOWEST_HZ / lineHz); line * lineHz < HIGHEST_HZ; line += 1) {
    const [before, here, after] = [powers[line - 1] ?? 0, powers[line] ?? 0, powers[line + 1] ?? 0];
    if (here <= before || here < after) continue;
    const note = 69 + 12 * Math.log2(((line + peakShift(before, here, after)) * lineHz) / 440);
    const pitchClass = ((Math.round(note) % 12) + 12) % 12;
    found[pitchClass] = (found[pitchClass] ?? 0) + Math.sqrt(here);
  }
  return found;
}

function added(frames: readonly PitchClasses[]): number[] {
  return Array.from({ length: 12 }, (_, at) => sumOf(frames.map((frame) => frame[at] ?? 0)));
}

function scaledToOne(classes: PitchClasses): PitchClasses {
  const total = sumOf(classes);
  return total > 0 ? classes.map((value) => value / total) : classes;
}

function sumOf(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

/** Where between lines a peak lies, -0.5 to 0.5: the parabola through three logarithms. */
function peakShift(before: number, here: number, after: number): number {
  const [a, b, c] = [before, here, after].map((power) => Math.log(power + 1e-20));
  const bend = (a ?? 0) - 2 * (b ?? 0) + (c ?? 0);
  return bend < 0 ? (0.5 * ((a ?? 0) - (c ?? 0))) / bend : 0;
}

function correlation(left: readonly number[], right: readonly number[]): number {
  const [leftMean, rightMean] = [left, right].map((values) => sumOf(values) / values.length);
  let [product, leftPower, rightPower] = [0, 1e-12, 1e-12];
  for (const [at, value] of left.entries()) {
    const one = value - (leftMean ?? 0);
    const other = (right[at] ?? 0) - (rightMean ?? 0);
    product += one * other;
    leftPower += one * one;
    rightPower += other * other;
  }
  return product / Math.sqrt(leftPower * rightPower);
}
