import type { SchedulerConfig } from "./config.js";
import { type Level, levelOfFlow, levelOfSigma } from "./prediction.js";
import { flowSolverLevels, solverLevels } from "./sigma-levels.js";

/** A level as the exponential integrators see it. */
export interface SolverLevel extends Level {
  /** Half the logarithm of signal to noise; grows to Infinity where no noise is left. */
  readonly lambda: number;
}

export interface SolverPlan {
  readonly timesteps: readonly number[];
  /** One more than timesteps: the last is the goal. */
  readonly levels: readonly SolverLevel[];
}

/** Timesteps and levels of DPM-Solver and UniPC, for flow models too. */
export function planSolver(config: SchedulerConfig, steps: number): SolverPlan {
  const isFlow = config.use_flow_sigmas ?? false;
  const { timesteps, sigmas } = isFlow
    ? flowSolverLevels(config, steps)
    : solverLevels(config, steps);
  const levels = sigmas.map((sigma) => {
    const { signal, noise } = isFlow ? levelOfFlow(sigma) : levelOfSigma(sigma);
    return { signal, noise, lambda: Math.log(signal) - Math.log(noise) };
  });
  return { timesteps, levels };
}

/** The level at an index of a plan. */
export function levelAt({ levels }: SolverPlan, index: number): SolverLevel {
  const level = levels[index];
  if (level === undefined)
    throw new RangeError(`the scheduler has ${levels.length} levels, asked for ${index}`);
  return level;
}
