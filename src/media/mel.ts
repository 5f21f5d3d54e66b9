import { createPowerSpectrum } from "./power-spectrum.js";

/** What Whisper works on: mono, 16 kHz, frames of 25 ms every 10 ms. */
export const SPEECH_RATE_HZ = 16_000;
const FRAME_SAMPLES = 400;
export const HOP_SAMPLES = 160;
/** Samples that a frame reaches to each side of its centre. */
export const FRAME_REACH = FRAME_SAMPLES / 2;
/** log10 of 1e-10, the least power that counts. */
const SILENCE = -10;
/** Eight decades: 80 dB below the loudest, everything is floor. */
const RANGE = 8;

/**
 * Whisper's features [bins, frames], float32, of mono samples at 16 kHz with `FRAME_REACH` samples of
 * what surrounds them on each side: (frames - 1) × 160 + 400 samples. Power spectra under a periodic
 * Hann window through `bins` Slaney mel filters; log10, floor 80 dB below the loudest, (x + 4) / 4
 * (Radford et al. 2022, 2.2, and its released `log_mel_spectrogram`).
 */
export type LogMel = (samples: Float32Array) => Float32Array;

/** The nonzero weights of one filter, from spectrum line `first` on. */
export interface MelFilter {
  readonly first: number;
  readonly weights: Float64Array;
}

export function createLogMel(bins: number): LogMel {
  const filters = slaneyFilters(bins, FRAME_SAMPLES);
  const window = hannWindow();
  const powerSpectrum = createPowerSpectrum(FRAME_SAMPLES);
  const frame = new Float64Array(FRAME_SAMPLES);
  const powers = new Float64Array(FRAME_SAMPLES / 2 + 1);
  return (samples) => {
    const frames = Math.floor((samples.length - FRAME_SAMPLES) / HOP_SAMPLES) + 1;
    const features = new Float32Array(bins * frames).fill(SILENCE);
    let loudest = SILENCE;
    for (let at = 0; at < frames; at++) {
      if (!cutFrame(samples.subarray(at * HOP_SAMPLES), window, frame)) continue;
      powerSpectrum(frame, powers);
      for (const [bin, filter] of filters.entries()) {
        const level = Math.log10(Math.max(applyFilter(filter, powers), 1e-10));
        if (level > loudest) loudest = level;
        features[bin * frames + at] = level;
      }
    }
    return scale(features, loudest);
  };
}

/** Copies a windowed frame; false where all of it is digital silence. */
function cutFrame(samples: Float32Array, window: Float64Array, frame: Float64Array): boolean {
  let isAudible = false;
  for (let at = 0; at < FRAME_SAMPLES; at++) {
    const sample = samples[at] ?? 0;
    if (sample !== 0) isAudible = true;
    frame[at] = sample * (window[at] ?? 0);
  }
  return isAudible;
}

/** The power that a filter lets through. */
export function applyFilter({ first, weights }: MelFilter, powers: Float64Array): number {
  let sum = 0;
  for (let at = 0; at < weights.length; at++) sum += (weights[at] ?? 0) * (powers[first + at] ?? 0);
  return sum;
}

function scale(features: Float32Array, loudest: number): Float32Array {
  const floor = loudest - RANGE;
  for (let at = 0; at < features.length; at++)
    features[at] = (Math.max(features[at] ?? 0, floor) + 4) / 4;
  return features;
}

function hannWindow(): Float64Array {
  return Float64Array.from(
    { length: FRAME_SAMPLES },
    (_, at) => 0.5 - 0.5 * Math.cos((2 * Math.PI * at) / FRAME_SAMPLES),
  );
}

/**
 * Triangles between neighbours on Slaney's mel scale, each of unit area (Auditory Toolbox, 1998), over the
 * lines of a spectrum of `points` samples at 16 kHz.
 */
export function slaneyFilters(bins: number, points: number): MelFilter[] {
  const top = hzToMel(SPEECH_RATE_HZ / 2);
  const edges = Array.from({ length: bins + 2 }, (_, at) => melToHz((top * at) / (bins + 1)));
  return edges.slice(1, -1).map((centre, bin) => {
    const low = edges[bin] ?? 0;
    const high = edges[bin + 2] ?? 0;
    const lines = Array.from({ length: points / 2 + 1 }, (_, line) => {
      const hz = (line * SPEECH_RATE_HZ) / points;
      const height = Math.min((hz - low) / (centre - low), (high - hz) / (high - centre));
      return (Math.max(0, height) * 2) / (high - low);
    });
    const first = Math.max(
      0,
      lines.findIndex((weight) => weight > 0),
    );
    const end = lines.findLastIndex((weight) => weight > 0) + 1;
    return { first, weights: Float64Array.from(lines.slice(first, end)) };
  });
}

/** Below 1 kHz linear, 200/3 Hz a mel; above it logarithmic, a factor 6.4 in 27 mels. */
const LINEAR_HZ = 200 / 3;
const BEND_HZ = 1_000;
const BEND_MEL = BEND_HZ / LINEAR_HZ;
const LOG_STEP = Math.log(6.4) / 27;

function hzToMel(hz: number): number {
  return hz < BEND_HZ ? hz / LINEAR_HZ : BEND_MEL + Math.log(hz / BEND_HZ) / LOG_STEP;
}

function melToHz(mel: number): number {
  return mel < BEND_MEL ? mel * LINEAR_HZ : BEND_HZ * Math.exp(LOG_STEP * (mel - BEND_MEL));
}
