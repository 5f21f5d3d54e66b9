import type { SchedulerConfig } from "./config.js";
import { historyMemory, type Scheduler, type SchedulerOptions } from "./scheduler.js";
import { cleanAtSigma, eulerLevels, initialSigma, scaleToUnit } from "./sigma-levels.js";
import { type Term, weightedSum } from "./weighted-sum.js";

const ORDER = 4;

/** Linear multistep in the noise level (k-diffusion, Crowson 2022): Adams–Bashforth on uneven levels. */
export function createLms(config: SchedulerConfig, { steps }: SchedulerOptions): Scheduler {
  const levels = eulerLevels(config, steps);
  const { sigmas, timesteps } = levels;
  const slopes: Float32Array[] = [];
  return {
    timesteps,
    initialNoiseSigma: initialSigma(config, levels),
    memory: historyMemory(slopes, ORDER),
    scaleInput: (sample, index) => scaleToUnit(sample, sigmas[index] ?? 0),
    step(output, index, sample) {
      const sigma = sigmas[index] ?? 0;
      const clean = cleanAtSigma(config, sigma, output, sample);
      slopes.unshift(weightedSum([1 / sigma, sample], [-1 / sigma, clean]));
      slopes.length = Math.min(slopes.length, ORDER);
      const nodes = slopes.map((_, age) => sigmas[index - age] ?? 0);
      const next = sigmas[index + 1] ?? 0;
      const terms = slopes.map((slope, age): Term => [lagrangeArea(nodes, age, next), slope]);
      return { clean, sample: weightedSum([1, sample], ...terms) };
    },
  };
}

/** Abscissa of the three-point Gauss–Legendre rule on [-1, 1], exact for polynomials of degree 5. */
const GAUSS = Math.sqrt(3 / 5);

/** Integral of the Lagrange polynomial of `nodes[which]`, from the first node to `end`. */
function lagrangeArea(nodes: readonly number[], which: number, end: number): number {
  const [start = 0] = nodes;
  const middle = (start + end) / 2;
  const half = (end - start) / 2;
  const at = (point: number) => lagrange(nodes, which, middle + half * point);
  return (half * (5 * at(-GAUSS) + 8 * at(0) + 5 * at(GAUSS))) / 9;
}

function lagrange(nodes: readonly number[], which: number, point: number): number {
  const own = nodes[which] ?? 0;
  return nodes.reduce(
    (product, node, index) =>
      index === which ? product : (product * (point - node)) / (own - node),
    1,
  );
}
