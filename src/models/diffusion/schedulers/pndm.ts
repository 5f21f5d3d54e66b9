import type { SchedulerConfig } from "./config.js";
import { alphaBars } from "./noise-schedule.js";
import { levelOfAlphaBar, predict } from "./prediction.js";
import type { Scheduler, SchedulerOptions } from "./scheduler.js";
import { roundToEven, spreadTimesteps } from "./spacing.js";
import { type Term, weightedSum } from "./weighted-sum.js";

/** Adams–Bashforth weights of the latest outputs, latest first, by how many there are. */
const WEIGHTS: readonly (readonly number[])[] = [
  [],
  [1],
  [3 / 2, -1 / 2],
  [23 / 12, -16 / 12, 5 / 12],
  [55 / 24, -59 / 24, 37 / 24, -9 / 24],
];

/**
 * Liu et al. 2022, "Pseudo Numerical Methods for Diffusion Models on Manifolds": the linear multistep
 * part (PLMS). The second timestep is visited twice: the first step is taken again with the mean of
 * both outputs.
 */
export function createPndm(config: SchedulerConfig, { steps }: SchedulerOptions): Scheduler {
  if (!config.skip_prk_steps)
    throw new Error("PNDMScheduler is read with skip_prk_steps true only, got false");
  const bars = alphaBars(config);
  const lastBar = (config.set_alpha_to_one ?? false) ? 1 : (bars[0] ?? 1);
  const spread = spreadTimesteps(config, steps, "leading").map(roundToEven);
  const timesteps = [...spread.slice(0, 2), ...spread.slice(1)];
  const stride = Math.floor(config.num_train_timesteps / steps);
  const history: Float32Array[] = [];
  let start: Float32Array | undefined;

  const transfer = (sample: Float32Array, output: Float32Array, from: number) => {
    const bar = bars[from] ?? 1;
    const nextBar = bars[from - stride] ?? lastBar;
    const { noise } = predict(config.prediction_type, levelOfAlphaBar(bar), output, sample);
    const scale = bar * Math.sqrt(1 - nextBar) + Math.sqrt(bar * (1 - bar) * nextBar);
    return weightedSum([Math.sqrt(nextBar / bar), sample], [(bar - nextBar) / scale, noise]);
  };
  return {
    timesteps,
    initialNoiseSigma: 1,
    memory: {
      save: () => (start === undefined ? [] : [start, ...history]),
      restore(index, saved) {
        // The step taken twice leaves one output, not two.
        const remembered = Math.min(index < 2 ? index : index - 1, 4);
        if (saved.length !== (index === 0 ? 0 : remembered + 1)) return false;
        const [first, ...outputs] = saved;
        start = first;
        history.splice(0, history.length, ...outputs);
        return true;
      },
    },
    scaleInput: (sample) => sample,
    step(output, index, sample) {
      const timestep = timesteps[index] ?? 0;
      const level = levelOfAlphaBar(bars[timestep] ?? 1);
      const { clean } = predict(config.prediction_type, level, output, sample);
      if (index === 1 && start) {
        const mean = weightedSum([0.5, output], [0.5, history[0] ?? output]);
        return { clean, sample: transfer(start, mean, timestep + stride) };
      }
      start = sample;
      history.unshift(output);
      history.length = Math.min(history.length, 4);
      const weights = WEIGHTS[history.length] ?? [];
      const terms = history.map((past, age): Term => [weights[age] ?? 0, past]);
      return { clean, sample: transfer(sample, weightedSum(...terms), timestep) };
    },
  };
}
