import { createPowerSpectrum } from "../../../src/media/power-spectrum.js";
import { openGraphs, type Graphs } from "../../../src/runtime/ort/graphs.js";
import { float32, floatsOf } from "../../../src/runtime/tensors/tensor.js";

export interface Frames {
  readonly frameSamples: number;
  readonly hopSamples: number;
}

/** Power spectra of overlapping frames under a periodic Hann window, first to last whole frame. */
function powerSpectra(samples: Float32Array, { frameSamples, hopSamples }: Frames): Float64Array[] {
  const spectrum = createPowerSpectrum(frameSamples);
  const window = Float64Array.from(
    { length: frameSamples },
    (_, at) => 0.5 - 0.5 * Math.cos((2 * Math.PI * at) / frameSamples),
  );
  const frame = new Float64Array(frameSamples);
  const count = Math.max(0, Math.floor((samples.length - frameSamples) / hopSamples) + 1);
  return Array.from({ length: count }, (_, number) => {
    for (let at = 0; at < frameSamples; at += 1)
      frame[at] = (samples[number * hopSamples + at] ?? 0) * (window[at] ?? 0);
    const powers = new Float64Array(frameSamples / 2 + 1);
    spectrum(frame, powers);
    return powers;
  });
}

export interface BandScale {
  readonly bands: number;
  readonly lowestHz: number;
  readonly highestHz: number;
  /** Between neighbouring lines of the spectrum. */
  readonly lineHz: number;
}

/** Weights of spectrum lines by band: triangles on a logarithmic scale, at least two lines wide. */
function logarithmicBands(
  { bands, lowestHz, highestHz, lineHz }: BandScale,
  lines: number,
): Float64Array[] {
  const edge = (at: number) => lowestHz * (highestHz / lowestHz) ** (at / (bands + 1));
  return Array.from({ length: bands }, (_, band) => {
    const centre = edge(band + 1);
    const above = Math.max(edge(band + 2) - centre, lineHz);
    const below = Math.max(centre - edge(band), lineHz);
    return Float64Array.from({ length: lines }, (_unused, line) => {
      const hertz = line * lineHz;
      const slope = hertz > centre ? 1 - (hertz - centre) / above : 1 - (centre - hertz) / below;
      return Math.max(0, slope);
    });
  });
}

/** Sum of a spectrum under a band's weights. */
function bandPower(powers: Float64Array, weights: Float64Array): number {
  let sum = 0;
  for (let line = 0; line < powers.length; line += 1)
    sum += (powers[line] ?? 0) * (weights[line] ?? 0);
  return sum;
}

/** Rate that tempo, key and instruments are heard at, Hz. */
export const MUSIC_RATE_HZ = 22_050;
const TEMPO_FRAMES = { frameSamples: 1_024, hopSamples: 220 };
const TEMPO_SCALE = { bands: 24, lowestHz: 40, highestHz: 9_000 };
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
  const framesPerMinute = (60 * MUSIC_RATE_HZ) / TEMPO_FRAMES.hopSamples;
  let best = { bpm: Number.NaN, score: -Infinity };
  for (let bpm = askedBpm / Math.SQRT2; bpm <= askedBpm * Math.SQRT2; bpm *= STEP) {
    const score = combScore(onsets, framesPerMinute / bpm);
    if (score > best.score) best = { bpm, score };
  }
  return best.bpm;
}

/** Twice the beat must be clearer than the beat by this factor to be heard as the beat. */
const CLEARER = 1.15;

/**
 * Whether onsets repeat clearly better every second beat than every beat of the tempo that was asked for;
 * mono samples at `MUSIC_RATE_HZ`.
 */
export function hearsHalfTempo(samples: Float32Array, askedBpm: number): boolean {
  const onsets = onsetCurve(samples);
  const beat = (60 * MUSIC_RATE_HZ) / TEMPO_FRAMES.hopSamples / askedBpm;
  const best = (period: number) =>
    Math.max(...NEARBY.map((factor) => combScore(onsets, factor * period)));
  return best(2 * beat) > CLEARER * best(beat);
}

/** Around a period: an onset's frame is uncertain by one. */
const NEARBY = [0.99, 0.995, 1, 1.005, 1.01];

const SILENCE_SAMPLES = 441;
/** Below the mean power of the piece by 30 dB. */
const SILENT_POWER = 1e-3;

/** Seconds until something is heard, in steps of 20 ms; mono samples at `MUSIC_RATE_HZ`. */
export function leadingSilence(samples: Float32Array): number {
  const powerOf = (part: Float32Array) =>
    part.reduce((sum, sample) => sum + sample * sample, 0) / Math.max(1, part.length);
  const least = SILENT_POWER * powerOf(samples);
  let at = 0;
  while (at < samples.length && powerOf(samples.subarray(at, at + SILENCE_SAMPLES)) <= least)
    at += SILENCE_SAMPLES;
  return at / MUSIC_RATE_HZ;
}

/** How much louder the bands get from frame to frame, above the mean around. */
function onsetCurve(samples: Float32Array): Float64Array {
  const lines = TEMPO_FRAMES.frameSamples / 2 + 1;
  const lineHz = MUSIC_RATE_HZ / TEMPO_FRAMES.frameSamples;
  const bands = logarithmicBands({ ...TEMPO_SCALE, lineHz }, lines);
  const levels = powerSpectra(samples, TEMPO_FRAMES).map((powers) =>
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

export interface Key {
  /** Semitones above C. */
  readonly tonic: number;
  readonly mode: "major" | "minor";
}

const KEY_FRAMES = { frameSamples: 8_192, hopSamples: 2_048 };
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
  const frames = audible(powerSpectra(samples, KEY_FRAMES).map(pitchClasses));
  const whole = added(frames.map(scaledToOne));
  const chords = [frames.slice(0, CHORD_FRAMES), frames.slice(-CHORD_FRAMES)].map(added);
  let best: Key = { tonic: 0, mode: "major" };
  let most = -Infinity;
  for (const mode of ["major", "minor"] as const) {
    for (let tonic = 0; tonic < 12; tonic += 1) {
      const fits = chords.map((chord) => correlation(degreesAbove(tonic, chord), TRIADS[mode]));
      const fit = fits.reduce(
        (total, one) => total + CHORD_WEIGHT * one,
        correlation(degreesAbove(tonic, whole), PROFILES[mode]),
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
function degreesAbove(tonic: number, classes: PitchClasses): number[] {
  return classes.map((_, degree) => classes[(tonic + degree) % 12] ?? 0);
}

/** Peaks of a spectrum by pitch class. */
function pitchClasses(powers: Float64Array): PitchClasses {
  const lineHz = MUSIC_RATE_HZ / KEY_FRAMES.frameSamples;
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

const INSTRUMENT_FRAMES = { frameSamples: 1_024, hopSamples: 512 };
const INSTRUMENT_SCALE = { bands: 72, lowestHz: 50, highestHz: 10_000 };
/** Frames that the probe hears at once, about six seconds. */
const WINDOW = 256;
/** Natural logarithms below the loudest that still count. */
const RANGE = 16;

/** The package's judge of instruments: never part of what is served. */
export interface InstrumentProbe {
  /** Score of each instrument, above 0 where it is heard; mono samples at `MUSIC_RATE_HZ`. */
  hear(samples: Float32Array): Promise<readonly number[]>;
  close(): Promise<void>;
}

export async function openInstrumentProbe(path: string): Promise<InstrumentProbe> {
  const sessions = await openGraphs({ graphs: { probe: path }, threads: 1, providers: ["cpu"] });
  return {
    hear: (samples) => hear(sessions, samples),
    close: () => sessions.close(),
  };
}

/** The highest score of any stretch: an instrument may rest. */
async function hear(sessions: Graphs, samples: Float32Array): Promise<readonly number[]> {
  const levels = bandLevels(samples);
  const starts = [0];
  while ((starts.at(-1) ?? 0) + WINDOW * 1.5 <= levels.length)
    starts.push((starts.at(-1) ?? 0) + WINDOW / 2);
  const most: number[] = [];
  for (const start of starts) {
    const bands = float32(stretchOf(levels, start), [1, INSTRUMENT_SCALE.bands, WINDOW]);
    const scores = floatsOf(await sessions.run("probe", { bands }), "logits");
    for (const [at, score] of scores.entries()) most[at] = Math.max(most[at] ?? -Infinity, score);
  }
  return most;
}

/** Natural logarithms of band powers, frame by frame. */
function bandLevels(samples: Float32Array): number[][] {
  const lineHz = MUSIC_RATE_HZ / INSTRUMENT_FRAMES.frameSamples;
  const bands = logarithmicBands(
    { ...INSTRUMENT_SCALE, lineHz },
    INSTRUMENT_FRAMES.frameSamples / 2 + 1,
  );
  return powerSpectra(samples, INSTRUMENT_FRAMES).map((powers) =>
    bands.map((weights) => Math.log(bandPower(powers, weights) + 1e-12)),
  );
}

/** [72, 256] from -1 to 0, below the loudest of the stretch; -1 beyond the end. */
function stretchOf(levels: readonly (readonly number[])[], start: number): Float32Array {
  const frames = levels.slice(start, start + WINDOW);
  const loudest = Math.max(...frames.map((frame) => Math.max(...frame)));
  const stretch = new Float32Array(INSTRUMENT_SCALE.bands * WINDOW).fill(-1);
  for (const [at, frame] of frames.entries()) {
    for (const [band, level] of frame.entries())
      stretch[band * WINDOW + at] = Math.max(-1, (level - loudest) / RANGE);
  }
  return stretch;
}

/** Samples around an instant that it is compared with, on either side: 12 ms at 44.1 kHz. */
const REACH = 512;
/** Samples next to it that belong to it. */
const OWN = 3;
/** A lone jump stands this far above what is around it; drum strokes stay below 20. */
const CLICK = 30;
/** Jumps smaller than this are not heard, 1 being full scale. */
const LEAST = 0.02;

/**
 * How many samples break out of their surroundings: the third difference, which music's spectrum leaves
 * small, is 30 times what it is on average within 12 ms.
 */
export function countClicks(samples: Float32Array): number {
  const jumps = thirdDifferences(samples);
  const sums = new Float64Array(jumps.length + 1);
  for (const [at, jump] of jumps.entries()) sums[at + 1] = (sums[at] ?? 0) + jump;
  const between = (from: number, to: number) =>
    (sums[Math.min(to, jumps.length)] ?? 0) - (sums[Math.max(0, from)] ?? 0);
  let clicks = 0;
  for (let at = 0; at < jumps.length; at += 1) {
    const jump = jumps[at] ?? 0;
    if (jump < LEAST) continue;
    const around = between(at - REACH, at + REACH) - between(at - OWN, at + OWN + 1);
    if (jump < CLICK * (around / (2 * REACH) + 1e-4)) continue;
    clicks += 1;
    at += REACH;
  }
  return clicks;
}

function thirdDifferences(samples: Float32Array): Float64Array {
  return Float64Array.from({ length: Math.max(0, samples.length - 3) }, (_, at) => {
    const [a, b, c, d] = [samples[at], samples[at + 1], samples[at + 2], samples[at + 3]];
    return Math.abs((d ?? 0) - 3 * (c ?? 0) + 3 * (b ?? 0) - (a ?? 0));
  });
}
