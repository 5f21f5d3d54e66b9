import type { SchedulerConfig } from "./config.js";
import { linspace, respacedSigmas, shiftLevel } from "./levels.js";
import { levelOfFlow, weightedSum } from "./prediction.js";
import { type Scheduler, type SchedulerOptions, UNSCALED } from "./scheduler.js";

/**
 * Rectified flow by Euler steps (Liu et al. 2022; Esser et al. 2024): straight from noise to data, or,
 * with `stochastic_sampling`, through clean latents that are noised anew.
 */
export function createFlowMatchEuler(
  config: SchedulerConfig,
  options: SchedulerOptions,
): Scheduler {
  return flowScheduler(config, options, config.stochastic_sampling);
}

/** The few-step sampler of models distilled to jump (DMD, CausVid, LightX2V): always through clean. */
export function createFlowMatchLcm(config: SchedulerConfig, options: SchedulerOptions): Scheduler {
  return flowScheduler(config, options, true);
}

function flowScheduler(
  config: SchedulerConfig,
  options: SchedulerOptions,
  isStochastic: boolean,
): Scheduler {
  const trained = config.num_train_timesteps;
  const levels = flowLevels(config, options);
  const sigmas = [...levels, config.invert_sigmas ? 1 : 0];
  return {
    timesteps: levels.map((sigma) => sigma * trained),
    ...UNSCALED,
    levelOf: (index) => levelOfFlow(sigmas[index] ?? 0),
    step(output, index, sample, noise) {
      const sigma = sigmas[index] ?? 0;
      const next = sigmas[index + 1] ?? 0;
      const clean = weightedSum([1, sample], [-sigma, output]);
      if (!isStochastic) return { clean, sample: weightedSum([1, sample], [next - sigma, output]) };
      const drawn = noise(sample.length);
      return { clean, sample: weightedSum([1 - next, clean], [next, drawn]) };
    },
  };
}

/** Levels of the steps: spread or given, moved towards noise, stretched, respaced, in this order. */
function flowLevels(config: SchedulerConfig, options: SchedulerOptions): number[] {
  const moved = (options.sigmas ?? evenLevels(config, options.steps)).map(
    mover(config, options.mu),
  );
  const stretched = stretchToTerminal(moved, config.shift_terminal);
  const levels = respacedSigmas(config, stretched, stretched.length) ?? stretched;
  return config.invert_sigmas ? levels.map((sigma) => 1 - sigma) : levels;
}

/** Evenly from the greatest to the smallest trained level; the trained ones are themselves shifted. */
function evenLevels(config: SchedulerConfig, steps: number): number[] {
  const trained = config.num_train_timesteps;
  const smallest = 1 / trained;
  const end = config.use_dynamic_shifting ? smallest : shiftLevel(smallest, config.shift);
  return linspace(1, end, steps);
}

function mover(config: SchedulerConfig, mu: number | undefined): (sigma: number) => number {
  if (!config.use_dynamic_shifting) return (sigma) => shiftLevel(sigma, config.shift);
  if (mu === undefined)
    throw new Error("a scheduler with use_dynamic_shifting needs mu, from the number of tokens");
  const shift = config.time_shift_type === "exponential" ? Math.exp(mu) : mu;
  return (sigma) => shift / (shift + (1 / sigma - 1));
}

/** Stretches what is left of the signal so that the last level is `terminal` (LTX-Video). */
function stretchToTerminal(sigmas: readonly number[], terminal?: number | null): number[] {
  if (!terminal) return [...sigmas];
  const scale = (1 - (sigmas.at(-1) ?? 0)) / (1 - terminal);
  return sigmas.map((sigma) => 1 - (1 - sigma) / scale);
}

/** mu of dynamic shifting, linear in the number of image tokens between two anchors. */
export function dynamicShift(config: SchedulerConfig, tokens: number): number {
  const fewest = config.base_image_seq_len ?? 256;
  const most = config.max_image_seq_len ?? 4_096;
  const base = config.base_shift ?? 0.5;
  const max = config.max_shift ?? 1.15;
  return base + ((max - base) * (tokens - fewest)) / (most - fewest);
}

/** Levels of a distilled model's own list of timesteps (of 1 000), e.g. `[1000, 757, 522]`. */
export function fewStepSigmas(timesteps: readonly number[]): number[] {
  return timesteps.map((timestep) => timestep / 1_000);
}

/**
 * Noise levels of rectified flow, from 1 to 0, `steps + 1` of them, moved towards noise by `shift`
 * (Esser et al. 2024, "Scaling Rectified Flow Transformers", section 5.3.2).
 */
export function flowSigmas(steps: number, shift: number): number[] {
  return Array.from({ length: steps + 1 }, (_, index) => shiftLevel(1 - index / steps, shift));
}

/** One Euler step in place: `sample += (next − now) × velocity`. */
export function eulerStep(sample: Float32Array, velocity: Float32Array, stepSize: number): void {
  for (let index = 0; index < sample.length; index++) {
    sample[index] = (sample[index] ?? 0) + stepSize * (velocity[index] ?? 0);
  }
}

/**
 * Classifier-free guidance (Ho & Salimans 2022) over a batch of two: conditional then unconditional,
 * each `velocity.length / 2` values.
 */
export function guide(velocity: Float32Array, guidance: number): Float32Array {
  const half = velocity.length / 2;
  const guided = new Float32Array(half);
  for (let index = 0; index < half; index++) {
    const free = velocity[half + index] ?? 0;
    guided[index] = free + guidance * ((velocity[index] ?? 0) - free);
  }
  return guided;
}
