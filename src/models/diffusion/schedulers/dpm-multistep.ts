import type { SchedulerConfig } from "./config.js";
import { predict } from "./prediction.js";
import { historyMemory, type Scheduler, type SchedulerOptions } from "./scheduler.js";
import { levelAt, planSolver, type SolverLevel } from "./solver-levels.js";
import { type Term, weightedSum } from "./weighted-sum.js";

/** Below this many steps the last ones go by a lower order, which is steadier. */
const FEW_STEPS = 15;

interface Step {
  readonly config: SchedulerConfig;
  readonly sample: Float32Array;
  /** What the solver integrates (clean latents, or noise for `dpmsolver`), latest first. */
  readonly history: readonly Float32Array[];
  /** Levels of `history`, latest first. */
  readonly past: readonly SolverLevel[];
  readonly next: SolverLevel;
}

/**
 * Lu et al. 2022, "DPM-Solver" and "DPM-Solver++": exponential integrators over half the log of signal
 * to noise, multistep, orders 1 to 3, and the stochastic form of order 1 and 2 (`sde-dpmsolver++`).
 */
export function createDpmMultistep(
  config: SchedulerConfig,
  { steps }: SchedulerOptions,
): Scheduler {
  checkConfig(config);
  const plan = planSolver(config, steps);
  const isStochastic = config.algorithm_type.startsWith("sde");
  const integratesClean = config.algorithm_type.endsWith("++");
  const history: Float32Array[] = [];
  return {
    timesteps: plan.timesteps,
    initialNoiseSigma: 1,
    memory: historyMemory(history, config.solver_order),
    scaleInput: (sample) => sample,
    step(output, index, sample, noise) {
      const level = levelAt(plan, index);
      const { clean, noise: direction } = predict(config.prediction_type, level, output, sample);
      history.unshift(integratesClean ? clean : direction);
      history.length = Math.min(history.length, config.solver_order);
      const order = Math.min(history.length, orderAt(config, index, plan.timesteps.length));
      const past = history.map((_, age) => levelAt(plan, index - age));
      const used = { history: history.slice(0, order), past: past.slice(0, order) };
      const step = { config, sample, ...used, next: levelAt(plan, index + 1) };
      if (!isStochastic) return { clean, sample: weightedSum(...deterministicTerms(step)) };
      const drawn = noise(sample.length);
      return { clean, sample: weightedSum(...stochasticTerms(step, drawn)) };
    },
  };
}

function checkConfig({ algorithm_type, solver_order, final_sigmas_type }: SchedulerConfig): void {
  if (algorithm_type === "dpmsolver" && final_sigmas_type === "zero")
    throw new Error("DPMSolverMultistepScheduler: dpmsolver needs final_sigmas_type sigma_min");
  if (algorithm_type.startsWith("sde") && solver_order > 2)
    throw new Error(`DPMSolverMultistepScheduler: ${algorithm_type} is read up to solver_order 2`);
}

function orderAt(config: SchedulerConfig, index: number, steps: number): number {
  const { euler_at_final, lower_order_final, final_sigmas_type, solver_order } = config;
  const eases = lower_order_final && steps < FEW_STEPS;
  const left = steps - index;
  if (left === 1 && (euler_at_final || eases || final_sigmas_type === "zero")) return 1;
  return left === 2 && eases ? Math.min(solver_order, 2) : solver_order;
}

/** Divided differences of the history over lambda: first, second; empty for order 1. */
function differences({ history, past, next }: Step): Float32Array[] {
  const [m0, m1, m2] = history;
  const [now, before, first] = past.map(({ lambda }) => lambda);
  if (!m0 || !m1 || now === undefined || before === undefined) return [];
  const h = next.lambda - now;
  const r0 = (now - before) / h;
  const slope = weightedSum([1 / r0, m0], [-1 / r0, m1]);
  if (!m2 || first === undefined) return [slope];
  const r1 = (before - first) / h;
  const earlier = weightedSum([1 / r1, m1], [-1 / r1, m2]);
  const share = 1 / (r0 + r1);
  return [
    weightedSum([1 + r0 * share, slope], [-r0 * share, earlier]),
    weightedSum([share, slope], [-share, earlier]),
  ];
}

/** DPM-Solver++ appendix B and DPM-Solver section 3: the noise form is the clean form turned round. */
function deterministicTerms(step: Step): Term[] {
  const { config, sample, history, past, next } = step;
  const [now] = past;
  const [latest] = history;
  if (!now || !latest) return [];
  const isClean = config.algorithm_type.endsWith("++");
  const h = (next.lambda - now.lambda) * (isClean ? -1 : 1);
  const scale = isClean ? next.signal : next.noise;
  const kept = isClean ? next.noise / now.noise : next.signal / now.signal;
  const phi = Math.expm1(h);
  const [slope, curve] = differences(step);
  const terms: Term[] = [
    [kept, sample],
    [-scale * phi, latest],
  ];
  if (!slope) return terms;
  const usesMidpoint = !curve && (config.solver_type ?? "midpoint") === "midpoint";
  const second = usesMidpoint ? phi / 2 : phi / h - 1;
  terms.push([-scale * second, slope]);
  if (curve) terms.push([-scale * ((phi - h) / h ** 2 - 0.5), curve]);
  return terms;
}

/** The stochastic form of DPM-Solver++: noise leaves at twice the rate and half comes back anew. */
function stochasticTerms(step: Step, drawn: Float32Array): Term[] {
  const { config, sample, history, past, next } = step;
  const [now] = past;
  const [latest] = history;
  if (!now || !latest) return [];
  const h = next.lambda - now.lambda;
  const lost = -Math.expm1(-2 * h);
  const terms: Term[] = [
    [(next.noise / now.noise) * Math.exp(-h), sample],
    [next.signal * lost, latest],
    [next.noise * Math.sqrt(lost), drawn],
  ];
  const [slope] = differences(step);
  if (!slope) return terms;
  const usesMidpoint = (config.solver_type ?? "midpoint") === "midpoint";
  const second = usesMidpoint ? lost / 2 : 1 - lost / (2 * h);
  return [...terms, [next.signal * second, slope]];
}
