import { applyFilter, HOP_SAMPLES, type MelFilter, SPEECH_RATE_HZ } from "../../media/mel.js";
import { createPowerSpectrum } from "../../media/power-spectrum.js";

const BINS = 80;
const FRAME_SAMPLES = 400;
const SPECTRUM_POINTS = 512;
const PREEMPHASIS = 0.97;
const LOWEST_HZ = 20;
/** The least power that counts: float32's epsilon. */
const FLOOR = 2 ** -23;

export interface SenseVoiceSettings {
  /** Frames side by side in one, and frames from one to the next. */
  readonly windowFrames: number;
  readonly shiftFrames: number;
  /** What samples in [-1, 1] are multiplied by. */
  readonly scale: number;
  /** Of each of `windowFrames` × 80 values: what is added, then what it is multiplied by. */
  readonly negativeMeans: readonly number[];
  readonly inverseDeviations: readonly number[];
}

/**
 * Kaldi's filter bank energies of mono samples at 16 kHz (25 ms every 10 ms, Hamming, 80 bins), stacked to a
 * lower frame rate and normalised: [steps, windowFrames × 80] (sherpa-onnx, ApplyLFR and ApplyCMVN).
 */
export function createSenseVoiceFeatures(settings: SenseVoiceSettings) {
  const { windowFrames, shiftFrames, negativeMeans, inverseDeviations } = settings;
  const energies = createFilterBank(settings.scale);
  const width = windowFrames * BINS;
  return (samples: Float32Array) => {
    const frames = energies(samples);
    const steps = Math.max(0, Math.floor((frames.length / BINS - windowFrames) / shiftFrames) + 1);
    const values = new Float32Array(steps * width);
    for (let step = 0; step < steps; step++) {
      const from = step * shiftFrames * BINS;
      for (let at = 0; at < width; at++) {
        const value = (frames[from + at] ?? 0) + (negativeMeans[at] ?? 0);
        values[step * width + at] = value * (inverseDeviations[at] ?? 1);
      }
    }
    return { values, steps, width };
  };
}

/** Logarithms of energies [frames, 80]; frames lie whole in the sound. */
function createFilterBank(scale: number): (samples: Float32Array) => Float32Array {
  const filters = kaldiFilters();
  const window = Float64Array.from(
    { length: FRAME_SAMPLES },
    (_, at) => 0.54 - 0.46 * Math.cos((2 * Math.PI * at) / (FRAME_SAMPLES - 1)),
  );
  const powerSpectrum = createPowerSpectrum(SPECTRUM_POINTS);
  const powers = new Float64Array(SPECTRUM_POINTS / 2 + 1);
  const frame = new Float64Array(SPECTRUM_POINTS);
  return (samples) => {
    const count = Math.max(0, Math.floor((samples.length - FRAME_SAMPLES) / HOP_SAMPLES) + 1);
    const energies = new Float32Array(count * BINS);
    for (let at = 0; at < count; at++) {
      const from = at * HOP_SAMPLES;
      cutFrame(samples.subarray(from, from + FRAME_SAMPLES), window, frame);
      powerSpectrum(frame, powers);
      for (const [bin, filter] of filters.entries()) {
        const energy = applyFilter(filter, powers) * scale * scale;
        energies[at * BINS + bin] = Math.log(Math.max(energy, FLOOR));
      }
    }
    return energies;
  };
}

/** Without its mean, emphasised, windowed; the rest of `frame` stays zero. */
function cutFrame(samples: Float32Array, window: Float64Array, frame: Float64Array): void {
  const mean = samples.reduce((sum, one) => sum + one, 0) / FRAME_SAMPLES;
  for (let at = 0; at < FRAME_SAMPLES; at++) {
    const before = (samples[Math.max(0, at - 1)] ?? 0) - mean;
    frame[at] = ((samples[at] ?? 0) - mean - PREEMPHASIS * before) * (window[at] ?? 0);
  }
}

/** Triangles that are straight on Kaldi's mel scale, of height 1 (Kaldi, MelBanks). */
function kaldiFilters(): MelFilter[] {
  const low = toMel(LOWEST_HZ);
  const step = (toMel(SPEECH_RATE_HZ / 2) - low) / (BINS + 1);
  return Array.from({ length: BINS }, (_, bin) => {
    const left = low + bin * step;
    const weights = Array.from({ length: SPECTRUM_POINTS / 2 }, (__, line) => {
      const mel = toMel((line * SPEECH_RATE_HZ) / SPECTRUM_POINTS);
      return Math.max(0, Math.min((mel - left) / step, (left + 2 * step - mel) / step));
    });
    const first = Math.max(
      0,
      weights.findIndex((weight) => weight > 0),
    );
    const end = weights.findLastIndex((weight) => weight > 0) + 1;
    return { first, weights: Float64Array.from(weights.slice(first, end)) };
  });
}

function toMel(hz: number): number {
  return 1_127 * Math.log(1 + hz / 700);
}
