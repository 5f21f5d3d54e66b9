import type { SchedulerConfig } from "./config.js";
import { levelAt, planSolver, type SolverLevel, type SolverPlan } from "./levels.js";
import { predict, type Term, weightedSum } from "./prediction.js";
import { historyMemory, type Scheduler, type SchedulerOptions, UNSCALED } from "./scheduler.js";

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
    ...UNSCALED,
    levelOf: (index) => levelAt(plan, index),
    memory: historyMemory(history, config.solver_order),
    step(output, index, sample, noise) {
      const level = levelAt(plan, index);
      const { clean, noise: direction } = predict(config.prediction_type, level, output, sample);
      history.unshift(integratesClean ? clean : direction);
      history.length = Math.min(history.length, config.solver_order);
      const order = Math.min(history.length, dpmOrder(config, index, plan.timesteps.length));
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

function dpmOrder(config: SchedulerConfig, index: number, steps: number): number {
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

interface Knowledge {
  readonly level: SolverLevel;
  /** Clean latents, or noise where `predict_x0` is false. */
  readonly value: Float32Array;
}

interface Transfer {
  readonly config: SchedulerConfig;
  /** Sample at the level of `past[0]`. */
  readonly sample: Float32Array;
  readonly goal: SolverLevel;
  /** Latest first; its length is the order. */
  readonly past: readonly Knowledge[];
  /** What the model says at the goal: given, the step is corrected, else predicted. */
  readonly arrived?: Float32Array;
}

/**
 * Zhao et al. 2023, "UniPC", multistep predictor and corrector of one order: each new output first
 * corrects the step that led to it, then predicts the next.
 */
export function createUniPc(config: SchedulerConfig, { steps }: SchedulerOptions): Scheduler {
  const plan = planSolver(config, steps);
  const history: Knowledge[] = [];
  let previous: { readonly sample: Float32Array; readonly order: number } | undefined;
  return {
    timesteps: plan.timesteps,
    ...UNSCALED,
    levelOf: (index) => levelAt(plan, index),
    memory: {
      save: () => (previous ? [previous.sample, ...history.map(({ value }) => value)] : []),
      restore(index, saved) {
        const remembered = Math.min(index, config.solver_order);
        if (saved.length !== (index === 0 ? 0 : remembered + 1)) return false;
        const [before, ...values] = saved;
        const past = values.map((value, age) => ({ level: levelAt(plan, index - 1 - age), value }));
        history.splice(0, history.length, ...past);
        const order = Math.min(remembered, uniPcOrder(config, index - 1, plan));
        previous = before && { sample: before, order };
        return true;
      },
    },
    step(output, index, sample) {
      const level = levelAt(plan, index);
      const { clean, noise } = predict(config.prediction_type, level, output, sample);
      const value = config.predict_x0 ? clean : noise;
      const isCorrected = previous && !config.disable_corrector.includes(index - 1);
      const past = history.slice(0, previous?.order);
      const corrected =
        previous && isCorrected
          ? transfer({ config, sample: previous.sample, goal: level, past, arrived: value })
          : sample;
      history.unshift({ level, value });
      history.length = Math.min(history.length, config.solver_order);
      const order = Math.min(history.length, uniPcOrder(config, index, plan));
      previous = { sample: corrected, order };
      const goal = levelAt(plan, index + 1);
      const next = { config, sample: corrected, goal, past: history.slice(0, order) };
      return { clean, sample: transfer(next) };
    },
  };
}

function uniPcOrder(config: SchedulerConfig, index: number, { timesteps }: SolverPlan): number {
  if (!config.lower_order_final) return config.solver_order;
  return Math.min(config.solver_order, timesteps.length - index);
}

/** One step of UniP (predictor) or UniC (corrector), equations 3 and 8 to 10. */
function transfer({ config, sample, goal, past, arrived }: Transfer): Float32Array {
  const [now, ...earlier] = past;
  if (now === undefined) throw new RangeError("a solver step needs what the model said before");
  const sign = config.predict_x0 ? -1 : 1;
  const h = goal.lambda - now.level.lambda;
  const scale = config.predict_x0 ? goal.signal : goal.noise;
  const kept = config.predict_x0 ? goal.noise / now.level.noise : goal.signal / now.level.signal;
  const phi = Math.expm1(sign * h);
  const spread = config.solver_type === "bh1" ? sign * h : phi;
  const ratios = earlier.map(({ level }) => (level.lambda - now.level.lambda) / h);
  const weights = differenceWeights(ratios, { h: sign * h, spread, isCorrected: !!arrived });
  const values = [...earlier.map(({ value }) => value), ...(arrived ? [arrived] : [])];
  const nodes = arrived ? [...ratios, 1] : ratios;
  const terms = values.flatMap((value, index): Term[] => {
    const weight = (-scale * spread * (weights[index] ?? 0)) / (nodes[index] ?? 1);
    return [
      [weight, value],
      [-weight, now.value],
    ];
  });
  return weightedSum([kept, sample], [-scale * phi, now.value], ...terms);
}

interface WeightOptions {
  readonly h: number;
  /** B(h) of the paper. */
  readonly spread: number;
  readonly isCorrected: boolean;
}

/** Solves the paper's conditions of order (equation 9) for the weights of the differences. */
function differenceWeights(
  ratios: readonly number[],
  { h, spread, isCorrected }: WeightOptions,
): number[] {
  const nodes = isCorrected ? [...ratios, 1] : ratios;
  // One difference alone weighs a half, as the paper sets it, whatever B(h) is.
  if (nodes.length < 2) return nodes.map(() => 0.5);
  let phi = Math.expm1(h) / h - 1;
  let factorial = 1;
  const rows = nodes.map((_, power) => {
    const row = nodes.map((node) => node ** power);
    row.push((phi * factorial) / spread);
    factorial *= power + 2;
    phi = phi / h - 1 / factorial;
    return row;
  });
  return solveLinear(rows);
}

/** Solves a small system by elimination with pivots; each row ends with its right side. */
function solveLinear(system: readonly (readonly number[])[]): number[] {
  const size = system.length;
  const rows = system.map((row) => [...row]);
  for (let column = 0; column < size; column += 1) {
    const rest = rows.slice(column);
    const pivot = rest.reduce((best, row) =>
      Math.abs(row[column] ?? 0) > Math.abs(best[column] ?? 0) ? row : best,
    );
    rows.splice(rows.indexOf(pivot), 1);
    rows.splice(column, 0, pivot);
    for (const row of rows) {
      if (row === pivot) continue;
      const factor = (row[column] ?? 0) / (pivot[column] ?? 1);
      for (let index = column; index <= size; index += 1)
        row[index] = (row[index] ?? 0) - factor * (pivot[index] ?? 0);
    }
  }
  return rows.map((row, index) => (row[size] ?? 0) / (row[index] ?? 1));
}
