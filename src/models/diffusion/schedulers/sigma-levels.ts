import type { SchedulerConfig } from "./config.js";
import {
  interpolate,
  linspace,
  respacedSigmas,
  shiftLevel,
  timestepOfSigma,
  trainingSigmas,
} from "./noise-schedule.js";
import { levelOfSigma, predict } from "./prediction.js";
import { roundToEven, spreadSolverTimesteps, spreadTimesteps } from "./spacing.js";
import { weightedSum } from "./weighted-sum.js";

export interface SigmaLevels {
  readonly timesteps: readonly number[];
  /** Noise over signal at each step, falling, and at the end: one more than timesteps. */
  readonly sigmas: readonly number[];
}

/** Levels of the methods that count noise in multiples of the signal: Euler and linear multistep. */
export function eulerLevels(config: SchedulerConfig, steps: number): SigmaLevels {
  const trained = trainingSigmas(config);
  const spread = spreadTimesteps(config, steps, "linspace");
  const sigmas = spread.map((timestep) => interpolate(trained, timestep));
  const last = config.final_sigmas_type === "zero" ? 0 : (trained[0] ?? 0);
  const respaced = respacedSigmas(config, sigmas, steps);
  const levels = respaced ?? sigmas;
  return { sigmas: [...levels, last], timesteps: modelTimesteps() };

  function modelTimesteps(): number[] {
    if (config.timestep_type === "continuous" && config.prediction_type === "v_prediction")
      return levels.map((sigma) => Math.log(sigma) / 4);
    return respaced ? respaced.map((sigma) => timestepOfSigma(sigma, trained)) : spread;
  }
}

/** Levels of the solvers in half-log signal-to-noise: DPM-Solver and UniPC, not for flow models. */
export function solverLevels(config: SchedulerConfig, steps: number): SigmaLevels {
  const trained = trainingSigmas(config);
  const last = config.final_sigmas_type === "zero" ? 0 : (trained[0] ?? 0);
  const respaced = respacedSigmas(config, trained.toReversed(), steps);
  if (respaced) {
    const timesteps = respaced.map((sigma) => roundToEven(timestepOfSigma(sigma, trained)));
    return { timesteps, sigmas: [...respaced, last] };
  }
  const timesteps = spreadSolverTimesteps(config, steps);
  const sigmas = timesteps.map((timestep) => interpolate(trained, timestep));
  return { timesteps, sigmas: [...sigmas, last] };
}

/** Levels 1 to above 0 of a flow model, evenly spread, then moved towards noise by `flow_shift`. */
export function flowSolverLevels(config: SchedulerConfig, steps: number): SigmaLevels {
  const { num_train_timesteps: trained, flow_shift: shift } = config;
  const sigmas = linspace(1, 1 / trained, steps + 1)
    .slice(0, -1)
    .map((sigma) => shiftLevel(sigma, shift))
    // At 1 nothing of the signal is left and its logarithm is not finite.
    .map((sigma) => Math.min(sigma, 1 - 1e-6));
  const last = config.final_sigmas_type === "zero" ? 0 : (sigmas.at(-1) ?? 0);
  const timesteps = sigmas.map((sigma) => Math.floor(sigma * trained));
  return { timesteps, sigmas: [...sigmas, last] };
}

/** Standard deviation that the first sample must have: that of its noise alone, or of both parts. */
export function initialSigma(config: SchedulerConfig, { sigmas }: SigmaLevels): number {
  const max = Math.max(...sigmas);
  return (config.timestep_spacing ?? "linspace") === "leading" ? Math.hypot(max, 1) : max;
}

/** The sample of level `sigma` at unit variance. */
export function scaleToUnit(sample: Float32Array, sigma: number): Float32Array {
  return weightedSum([1 / Math.hypot(sigma, 1), sample]);
}

/** The clean latents in `sample = clean + sigma × noise`. */
export function cleanAtSigma(
  config: SchedulerConfig,
  sigma: number,
  output: Float32Array,
  sample: Float32Array,
): Float32Array {
  const level = levelOfSigma(sigma);
  return predict(config.prediction_type, level, output, scaleToUnit(sample, sigma)).clean;
}
