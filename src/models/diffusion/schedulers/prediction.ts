import type { SchedulerConfig } from "./config.js";

type PredictionType = SchedulerConfig["prediction_type"];

/** What a model's output means: the clean latents and the noise that the sample is made of. */
interface Prediction {
  readonly clean: Float32Array;
  readonly noise: Float32Array;
}

/** Shares of signal and noise in a sample: `sample = signal × clean + noise × noise`. */
export interface Level {
  readonly signal: number;
  readonly noise: number;
}

/** Variance is preserved: signal and noise squared sum to 1. */
export function levelOfAlphaBar(alphaBar: number): Level {
  return { signal: Math.sqrt(alphaBar), noise: Math.sqrt(1 - alphaBar) };
}

/** The level with the noise-to-signal ratio `sigma`, variance preserved. */
export function levelOfSigma(sigma: number): Level {
  const signal = 1 / Math.sqrt(sigma ** 2 + 1);
  return { signal, noise: sigma * signal };
}

/** The level `sigma`, 0 to 1, of a straight path from data to noise. */
export function levelOfFlow(sigma: number): Level {
  return { signal: 1 - sigma, noise: sigma };
}

/**
 * Ho et al. 2020 (epsilon), Salimans & Ho 2022 (v), Lipman et al. 2023 (flow): clean and noise from one
 * output at a known level.
 */
export function predict(
  type: PredictionType,
  level: Level,
  output: Float32Array,
  sample: Float32Array,
): Prediction {
  const { signal, noise } = level;
  switch (type) {
    case "epsilon":
      return {
        clean: weightedSum([1 / signal, sample], [-noise / signal, output]),
        noise: output,
      };
    case "sample":
      return {
        clean: output,
        noise: weightedSum([1 / noise, sample], [-signal / noise, output]),
      };
    case "v_prediction":
      return {
        clean: weightedSum([signal, sample], [-noise, output]),
        noise: weightedSum([signal, output], [noise, sample]),
      };
    case "flow_prediction":
      return {
        clean: weightedSum([1, sample], [-noise, output]),
        noise: weightedSum([1, sample], [signal, output]),
      };
    default:
      return type satisfies never;
  }
}

/** Holds the clean latents within the range that the configuration names, where it does. */
export function clipped(
  prediction: Prediction,
  { clip_sample, clip_sample_range }: SchedulerConfig,
  byDefault: boolean,
): Prediction {
  if (!(clip_sample ?? byDefault)) return prediction;
  const [low, high] = [-clip_sample_range, clip_sample_range];
  const clean = prediction.clean.map((value) => Math.min(Math.max(value, low), high));
  return { ...prediction, clean };
}

/** A share of an array in a sum. */
export type Term = readonly [weight: number, values: Float32Array];

/** The sum of equally long arrays, each times its weight; added up in double precision. */
export function weightedSum(...terms: readonly Term[]): Float32Array {
  const length = terms[0]?.[1].length ?? 0;
  const sums = new Float64Array(length);
  for (const [weight, values] of terms) {
    if (weight === 0) continue;
    for (let index = 0; index < length; index += 1)
      sums[index] = (sums[index] ?? 0) + weight * (values[index] ?? 0);
  }
  return Float32Array.from(sums);
}
