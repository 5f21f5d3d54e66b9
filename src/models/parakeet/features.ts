import { applyFilter, FRAME_REACH, HOP_SAMPLES, slaneyFilters } from "../../media/mel.js";
import { createPowerSpectrum } from "../../media/power-spectrum.js";

const SPECTRUM_POINTS = 512;
const FRAME_SAMPLES = 2 * FRAME_REACH;
const PREEMPHASIS = 0.97;
/** What keeps the logarithm of silence finite. */
const GUARD = 2 ** -24;
const EPSILON = 1e-5;

/** [frames, bins] of a sound; the last frame is beyond the sound and zero. */
export interface NemoFeatures {
  readonly values: Float32Array;
  readonly frames: number;
  /** Frames that count. */
  readonly length: number;
}

/**
 * NeMo's features of mono samples at 16 kHz: preemphasis, power spectra of 25 ms every 10 ms under a
 * symmetric Hann window, Slaney mel filters, natural logarithm, each bin to a mean of 0 and a deviation of 1
 * (NeMo, FilterbankFeatures; transformers, ParakeetFeatureExtractor).
 */
export function createNemoFeatures(bins: number): (samples: Float32Array) => NemoFeatures {
  const filters = slaneyFilters(bins, SPECTRUM_POINTS);
  const powerSpectrum = createPowerSpectrum(SPECTRUM_POINTS);
  const window = Float64Array.from(
    { length: FRAME_SAMPLES },
    (_, at) => 0.5 - 0.5 * Math.cos((2 * Math.PI * at) / (FRAME_SAMPLES - 1)),
  );
  const frame = new Float64Array(SPECTRUM_POINTS);
  const powers = new Float64Array(SPECTRUM_POINTS / 2 + 1);
  return (samples) => {
    const length = Math.floor(samples.length / HOP_SAMPLES);
    const values = new Float32Array((length + 1) * bins);
    for (let at = 0; at < length; at++) {
      const from = at * HOP_SAMPLES - FRAME_REACH;
      for (let n = 0; n < FRAME_SAMPLES; n++)
        frame[n] = (window[n] ?? 0) * emphasised(samples, from + n);
      powerSpectrum(frame, powers);
      for (const [bin, filter] of filters.entries())
        values[at * bins + bin] = Math.log(applyFilter(filter, powers) + GUARD);
    }
    for (let bin = 0; bin < bins; bin++) normalise(values, { bin, bins, length });
    return { values, frames: length + 1, length };
  };
}

function emphasised(samples: Float32Array, at: number): number {
  return (
    (samples[at] ?? 0) - PREEMPHASIS * (at > 0 && at < samples.length ? (samples[at - 1] ?? 0) : 0)
  );
}

function normalise(
  values: Float32Array,
  { bin, bins, length }: { readonly bin: number; readonly bins: number; readonly length: number },
): void {
  let sum = 0;
  for (let at = 0; at < length; at++) sum += values[at * bins + bin] ?? 0;
  const mean = sum / length;
  let squares = 0;
  for (let at = 0; at < length; at++) squares += ((values[at * bins + bin] ?? 0) - mean) ** 2;
  const deviation = Math.sqrt(squares / (length - 1)) + EPSILON;
  for (let at = 0; at < length; at++)
    values[at * bins + bin] = ((values[at * bins + bin] ?? 0) - mean) / deviation;
}
