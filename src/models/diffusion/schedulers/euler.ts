import type { SchedulerConfig } from "./config.js";
import type { Scheduler, SchedulerOptions } from "./scheduler.js";
import { cleanAtSigma, eulerLevels, initialSigma, scaleToUnit } from "./sigma-levels.js";
import { weightedSum } from "./weighted-sum.js";

/** Karras et al. 2022, algorithm 2 without churn: Euler's method in the noise level. */
export function createEuler(config: SchedulerConfig, { steps }: SchedulerOptions): Scheduler {
  const levels = eulerLevels(config, steps);
  const { sigmas, timesteps } = levels;
  return {
    timesteps,
    initialNoiseSigma: initialSigma(config, levels),
    scaleInput: (sample, index) => scaleToUnit(sample, sigmas[index] ?? 0),
    step(output, index, sample) {
      const sigma = sigmas[index] ?? 0;
      const clean = cleanAtSigma(config, sigma, output, sample);
      const kept = (sigmas[index + 1] ?? 0) / sigma;
      return { clean, sample: weightedSum([kept, sample], [1 - kept, clean]) };
    },
  };
}

/**
 * Euler steps that go down further than the next level and come back up with new noise, as k-diffusion
 * (Crowson 2022) introduced them.
 */
export function createEulerAncestral(
  config: SchedulerConfig,
  { steps }: SchedulerOptions,
): Scheduler {
  const levels = eulerLevels(config, steps);
  const { sigmas, timesteps } = levels;
  return {
    timesteps,
    initialNoiseSigma: initialSigma(config, levels),
    scaleInput: (sample, index) => scaleToUnit(sample, sigmas[index] ?? 0),
    step(output, index, sample, noise) {
      const sigma = sigmas[index] ?? 0;
      const next = sigmas[index + 1] ?? 0;
      const up = Math.sqrt((next ** 2 * (sigma ** 2 - next ** 2)) / sigma ** 2);
      const clean = cleanAtSigma(config, sigma, output, sample);
      const kept = Math.sqrt(next ** 2 - up ** 2) / sigma;
      const drawn = noise(sample.length);
      return { clean, sample: weightedSum([kept, sample], [1 - kept, clean], [up, drawn]) };
    },
  };
}
