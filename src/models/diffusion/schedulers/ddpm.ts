import type { SchedulerConfig } from "./config.js";
import { alphaBars } from "./noise-schedule.js";
import { clipped, levelOfAlphaBar, predict } from "./prediction.js";
import type { Scheduler, SchedulerOptions } from "./scheduler.js";
import { roundToEven, spreadTimesteps } from "./spacing.js";
import { weightedSum } from "./weighted-sum.js";

const VARIANCES = ["fixed_small", "fixed_small_log", "fixed_large", "fixed_large_log"];

/** Ho et al. 2020, "Denoising Diffusion Probabilistic Models", equations 6 and 7. */
export function createDdpm(config: SchedulerConfig, { steps }: SchedulerOptions): Scheduler {
  const varianceType = config.variance_type ?? "fixed_small";
  if (!VARIANCES.includes(varianceType))
    throw new Error(
      `DDPMScheduler's variance_type must be one of ${VARIANCES.join(", ")}, got ${varianceType}`,
    );
  const bars = alphaBars(config);
  const timesteps = spreadTimesteps(config, steps, "leading").map(roundToEven);
  return {
    timesteps,
    initialNoiseSigma: 1,
    scaleInput: (sample) => sample,
    step(output, index, sample, noise) {
      const timestep = timesteps[index] ?? 0;
      const bar = bars[timestep] ?? 1;
      const nextBar = bars[timesteps[index + 1] ?? -1] ?? 1;
      const beta = 1 - bar / nextBar;
      const predicted = predict(config.prediction_type, levelOfAlphaBar(bar), output, sample);
      const { clean } = clipped(predicted, config, true);
      const mean = weightedSum(
        [(Math.sqrt(nextBar) * beta) / (1 - bar), clean],
        [(Math.sqrt(bar / nextBar) * (1 - nextBar)) / (1 - bar), sample],
      );
      if (timestep === 0) return { clean, sample: mean };
      const small = Math.max(((1 - nextBar) / (1 - bar)) * beta, 1e-20);
      const variance = varianceType.startsWith("fixed_small") ? small : beta;
      const drawn = noise(sample.length);
      return { clean, sample: weightedSum([1, mean], [Math.sqrt(variance), drawn]) };
    },
  };
}
