import type { SchedulerConfig } from "./config.js";
import { alphaBars } from "./noise-schedule.js";
import { clipped, levelOfAlphaBar, predict } from "./prediction.js";
import type { Scheduler, SchedulerOptions } from "./scheduler.js";
import { distilledTimesteps } from "./spacing.js";
import { weightedSum } from "./weighted-sum.js";

const SIGMA_DATA = 0.5;

/**
 * Luo et al. 2023, "Latent Consistency Models": each step jumps to clean latents through the boundary
 * condition of consistency models (Song et al. 2023, appendix C) and noise is added anew.
 */
export function createLcm(config: SchedulerConfig, { steps }: SchedulerOptions): Scheduler {
  const bars = alphaBars(config);
  const timesteps = distilledTimesteps(config, steps);
  return {
    timesteps,
    initialNoiseSigma: 1,
    scaleInput: (sample) => sample,
    step(output, index, sample, noise) {
      const timestep = timesteps[index] ?? 0;
      const level = levelOfAlphaBar(bars[timestep] ?? 1);
      const predicted = predict(config.prediction_type, level, output, sample);
      const scaled = timestep * config.timestep_scaling;
      const spread = scaled ** 2 + SIGMA_DATA ** 2;
      const clean = weightedSum(
        [scaled / Math.sqrt(spread), clipped(predicted, config, false).clean],
        [SIGMA_DATA ** 2 / spread, sample],
      );
      const nextTimestep = timesteps[index + 1];
      if (nextTimestep === undefined) return { clean, sample: clean };
      const next = levelOfAlphaBar(bars[nextTimestep] ?? 1);
      const drawn = noise(sample.length);
      return { clean, sample: weightedSum([next.signal, clean], [next.noise, drawn]) };
    },
  };
}
