import type { SchedulerConfig } from "./config.js";
import { alphaBars } from "./noise-schedule.js";
import { clipped, levelOfAlphaBar, predict } from "./prediction.js";
import type { Scheduler, SchedulerOptions } from "./scheduler.js";
import { distilledTimesteps } from "./spacing.js";
import { weightedSum } from "./weighted-sum.js";

/** Share of noise in a step: the reference's default, 0 = none, 1 = all anew. */
const ETA = 0.3;

/**
 * Zheng et al. 2024, "Trajectory Consistency Distillation", algorithm 4: jump to a level below the next
 * one, then add noise up to it.
 */
export function createTcd(config: SchedulerConfig, { steps }: SchedulerOptions): Scheduler {
  const bars = alphaBars(config);
  const timesteps = distilledTimesteps(config, steps);
  return {
    timesteps,
    initialNoiseSigma: 1,
    scaleInput: (sample) => sample,
    step(output, index, sample, noise) {
      const nextTimestep = timesteps[index + 1] ?? 0;
      const nextBar = bars[nextTimestep] ?? 1;
      const belowBar = bars[Math.floor((1 - ETA) * nextTimestep)] ?? 1;
      const level = levelOfAlphaBar(bars[timesteps[index] ?? 0] ?? 1);
      const below = levelOfAlphaBar(belowBar);
      const predicted = predict(config.prediction_type, level, output, sample);
      const { clean, noise: direction } = clipped(predicted, config, false);
      const jumped = weightedSum([below.signal, clean], [below.noise, direction]);
      if (index === timesteps.length - 1) return { clean, sample: jumped };
      const up = levelOfAlphaBar(nextBar / belowBar);
      const drawn = noise(sample.length);
      return { clean, sample: weightedSum([up.signal, jumped], [up.noise, drawn]) };
    },
  };
}
