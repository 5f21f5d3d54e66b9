import type { SchedulerConfig } from "./config.js";
import { predict } from "./prediction.js";
import type { Scheduler, SchedulerOptions } from "./scheduler.js";
import { levelAt, planSolver, type SolverLevel, type SolverPlan } from "./solver-levels.js";
import { type Term, weightedSum } from "./weighted-sum.js";

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
    initialNoiseSigma: 1,
    memory: {
      save: () => (previous ? [previous.sample, ...history.map(({ value }) => value)] : []),
      restore(index, saved) {
        const [before, ...values] = saved;
        const remembered = Math.min(index, config.solver_order);
        if (values.length !== remembered || (index > 0 && before === undefined)) return false;
        const past = values.map((value, age) => ({ level: levelAt(plan, index - 1 - age), value }));
        history.splice(0, history.length, ...past);
        const order = Math.min(remembered, orderAt(config, index - 1, plan));
        previous = before && { sample: before, order };
        return true;
      },
    },
    scaleInput: (sample) => sample,
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
      const order = Math.min(history.length, orderAt(config, index, plan));
      previous = { sample: corrected, order };
      const goal = levelAt(plan, index + 1);
      const next = { config, sample: corrected, goal, past: history.slice(0, order) };
      return { clean, sample: transfer(next) };
    },
  };
}

function orderAt(config: SchedulerConfig, index: number, { timesteps }: SolverPlan): number {
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
