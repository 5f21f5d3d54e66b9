import type { SchedulerConfig } from "./config.js";
import { alphaBars, withZeroTerminalSnr } from "./noise-schedule.js";
import { clipped, levelOfAlphaBar, predict } from "./prediction.js";
import type { Scheduler, SchedulerOptions } from "./scheduler.js";
import { roundToEven, spreadTimesteps } from "./spacing.js";
import { weightedSum } from "./weighted-sum.js";

/** Song et al. 2021, "Denoising Diffusion Implicit Models", equation 12 without added noise. */
export function createDdim(config: SchedulerConfig, { steps }: SchedulerOptions): Scheduler {
  return ddimOver(alphaBars(config), config, steps);
}

/** DDIM over CogVideoX's levels: signal to noise divided by `snr_shift_scale`, then none at the end. */
export function createCogVideoXDdim(
  config: SchedulerConfig,
  { steps }: SchedulerOptions,
): Scheduler {
  const shift = config.snr_shift_scale;
  const bars = alphaBars({ ...config, rescale_betas_zero_snr: false });
  const shifted = bars.map((bar) => bar / (shift + (1 - shift) * bar));
  const rescaled = config.rescale_betas_zero_snr ? withZeroTerminalSnr(shifted) : shifted;
  return ddimOver(rescaled, config, steps);
}

function ddimOver(bars: readonly number[], config: SchedulerConfig, steps: number): Scheduler {
  const timesteps = spreadTimesteps(config, steps, "leading").map(roundToEven);
  const stride = Math.floor(config.num_train_timesteps / steps);
  const lastBar = (config.set_alpha_to_one ?? true) ? 1 : (bars[0] ?? 1);
  return {
    timesteps,
    initialNoiseSigma: 1,
    scaleInput: (sample) => sample,
    step(output, index, sample) {
      const timestep = timesteps[index] ?? 0;
      const next = levelOfAlphaBar(bars[timestep - stride] ?? lastBar);
      const level = levelOfAlphaBar(bars[timestep] ?? 1);
      const predicted = predict(config.prediction_type, level, output, sample);
      const { clean, noise } = clipped(predicted, config, true);
      return { clean, sample: weightedSum([next.signal, clean], [next.noise, noise]) };
    },
  };
}
