import type { SchedulerConfig } from "./config.js";
import { createFlowMatchEuler, createFlowMatchLcm } from "./flow-match.js";
import {
  alphaBars,
  cleanAtSigma,
  distilledTimesteps,
  eulerLevels,
  initialSigma,
  roundToEven,
  scaleToUnit,
  spreadTimesteps,
  withZeroTerminalSnr,
} from "./levels.js";
import { clipped, levelOfAlphaBar, predict, type Term, weightedSum } from "./prediction.js";
import { createDpmMultistep, createUniPc } from "./solvers.js";
import { historyMemory, type Scheduler, type SchedulerOptions, UNSCALED } from "./scheduler.js";

type CreateScheduler = (config: SchedulerConfig, options: SchedulerOptions) => Scheduler;

/** By `_class_name` of scheduler_config.json. */
const FAMILIES: Readonly<Record<string, CreateScheduler>> = {
  CogVideoXDDIMScheduler: createCogVideoXDdim,
  DDIMScheduler: createDdim,
  DDPMScheduler: createDdpm,
  DPMSolverMultistepScheduler: createDpmMultistep,
  EulerAncestralDiscreteScheduler: createEulerAncestral,
  EulerDiscreteScheduler: createEuler,
  FlowMatchEulerDiscreteScheduler: createFlowMatchEuler,
  FlowMatchLCMScheduler: createFlowMatchLcm,
  LCMScheduler: createLcm,
  LMSDiscreteScheduler: createLms,
  PNDMScheduler: createPndm,
  TCDScheduler: createTcd,
  UniPCMultistepScheduler: createUniPc,
};

/** A scheduler for one sample. Throws an error that names a class or a setting that is not known. */
export function createScheduler(config: SchedulerConfig, options: SchedulerOptions): Scheduler {
  const name = config.className;
  const create = Object.hasOwn(FAMILIES, name) ? FAMILIES[name] : undefined;
  if (create === undefined) {
    const known = Object.keys(FAMILIES).join(", ");
    throw new Error(`the scheduler ${name} is not known: it must be one of ${known}`);
  }
  return create(config, options);
}

/** Song et al. 2021, "Denoising Diffusion Implicit Models", equation 12 without added noise. */
function createDdim(config: SchedulerConfig, { steps }: SchedulerOptions): Scheduler {
  return ddimOver(alphaBars(config), config, steps);
}

/** DDIM over CogVideoX's levels: signal to noise divided by `snr_shift_scale`, then none at the end. */
function createCogVideoXDdim(config: SchedulerConfig, { steps }: SchedulerOptions): Scheduler {
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
    ...UNSCALED,
    timesteps,
    levelOf: (index) => levelOfAlphaBar(bars[timesteps[index] ?? 0] ?? 1),
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

const VARIANCES = ["fixed_small", "fixed_small_log", "fixed_large", "fixed_large_log"];

/** Ho et al. 2020, "Denoising Diffusion Probabilistic Models", equations 6 and 7. */
function createDdpm(config: SchedulerConfig, { steps }: SchedulerOptions): Scheduler {
  const varianceType = config.variance_type ?? "fixed_small";
  if (!VARIANCES.includes(varianceType))
    throw new Error(
      `DDPMScheduler's variance_type must be one of ${VARIANCES.join(", ")}, got ${varianceType}`,
    );
  const bars = alphaBars(config);
  const timesteps = spreadTimesteps(config, steps, "leading").map(roundToEven);
  return {
    ...UNSCALED,
    timesteps,
    levelOf: (index) => levelOfAlphaBar(bars[timesteps[index] ?? 0] ?? 1),
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

/** Levels of the Euler and multistep methods, and the samples that the model reads at them. */
function eulerScaling(config: SchedulerConfig, steps: number) {
  const levels = eulerLevels(config, steps);
  return {
    ...levels,
    initialNoiseSigma: initialSigma(config, levels),
    levelOf: (index: number) => ({ signal: 1, noise: levels.sigmas[index] ?? 0 }),
    scaleInput: (sample: Float32Array, index: number) =>
      scaleToUnit(sample, levels.sigmas[index] ?? 0),
  };
}

/** Karras et al. 2022, algorithm 2 without churn: Euler's method in the noise level. */
function createEuler(config: SchedulerConfig, { steps }: SchedulerOptions): Scheduler {
  const { sigmas, ...scaling } = eulerScaling(config, steps);
  return {
    ...scaling,
    step(output, index, sample) {
      const sigma = sigmas[index] ?? 0;
      const clean = cleanAtSigma(config, sigma, output, sample);
      const kept = (sigmas[index + 1] ?? 0) / sigma;
      return { clean, sample: weightedSum([kept, sample], [1 - kept, clean]) };
    },
  };
}

/**
 * Euler steps that go down further than the next level and come back up with new noise, as k-diffusion
 * (Crowson 2022) introduced them.
 */
function createEulerAncestral(config: SchedulerConfig, { steps }: SchedulerOptions): Scheduler {
  const { sigmas, ...scaling } = eulerScaling(config, steps);
  return {
    ...scaling,
    step(output, index, sample, noise) {
      const sigma = sigmas[index] ?? 0;
      const next = sigmas[index + 1] ?? 0;
      const up = Math.sqrt((next ** 2 * (sigma ** 2 - next ** 2)) / sigma ** 2);
      const clean = cleanAtSigma(config, sigma, output, sample);
      const kept = Math.sqrt(next ** 2 - up ** 2) / sigma;
      const drawn = noise(sample.length);
      return { clean, sample: weightedSum([kept, sample], [1 - kept, clean], [up, drawn]) };
    },
  };
}

const SIGMA_DATA = 0.5;

/**
 * Luo et al. 2023, "Latent Consistency Models": each step jumps to clean latents through the boundary
 * condition of consistency models (Song et al. 2023, appendix C) and noise is added anew.
 */
function createLcm(config: SchedulerConfig, { steps, share }: SchedulerOptions): Scheduler {
  const bars = alphaBars(config);
  const timesteps = distilledTimesteps(config, steps, share);
  return {
    ...UNSCALED,
    timesteps,
    levelOf: (index) => levelOfAlphaBar(bars[timesteps[index] ?? 0] ?? 1),
    step(output, index, sample, noise) {
      const timestep = timesteps[index] ?? 0;
      const level = levelOfAlphaBar(bars[timestep] ?? 1);
      const predicted = predict(config.prediction_type, level, output, sample);
      const scaled = timestep * config.timestep_scaling;
      const spread = scaled ** 2 + SIGMA_DATA ** 2;
      const clean = weightedSum(
        [scaled / Math.sqrt(spread), clipped(predicted, config, false).clean],
        [SIGMA_DATA ** 2 / spread, sample],
      );
      const nextTimestep = timesteps[index + 1];
      if (nextTimestep === undefined) return { clean, sample: clean };
      const next = levelOfAlphaBar(bars[nextTimestep] ?? 1);
      const drawn = noise(sample.length);
      return { clean, sample: weightedSum([next.signal, clean], [next.noise, drawn]) };
    },
  };
}

const ORDER = 4;

/** Linear multistep in the noise level (k-diffusion, Crowson 2022): Adams–Bashforth on uneven levels. */
function createLms(config: SchedulerConfig, { steps }: SchedulerOptions): Scheduler {
  const { sigmas, ...scaling } = eulerScaling(config, steps);
  const slopes: Float32Array[] = [];
  return {
    ...scaling,
    memory: historyMemory(slopes, ORDER),
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

/** Share of noise in a step: the reference's default, 0 = none, 1 = all anew. */
const ETA = 0.3;

/**
 * Zheng et al. 2024, "Trajectory Consistency Distillation", algorithm 4: jump to a level below the next
 * one, then add noise up to it.
 */
function createTcd(config: SchedulerConfig, { steps }: SchedulerOptions): Scheduler {
  const bars = alphaBars(config);
  const timesteps = distilledTimesteps(config, steps);
  return {
    ...UNSCALED,
    timesteps,
    levelOf: (index) => levelOfAlphaBar(bars[timesteps[index] ?? 0] ?? 1),
    step(output, index, sample, noise) {
      const nextTimestep = timesteps[index + 1] ?? 0;
      const nextBar = bars[nextTimestep] ?? 1;
      const belowBar = bars[Math.floor((1 - ETA) * nextTimestep)] ?? 1;
      const level = levelOfAlphaBar(bars[timesteps[index] ?? 0] ?? 1);
      const below = levelOfAlphaBar(belowBar);
      const predicted = predict(config.prediction_type, level, output, sample);
      const { clean, noise: direction } = clipped(predicted, config, false);
      const jumped = weightedSum([below.signal, clean], [below.noise, direction]);
      if (index === timesteps.length - 1) return { clean, sample: jumped };
      const up = levelOfAlphaBar(nextBar / belowBar);
      const drawn = noise(sample.length);
      return { clean, sample: weightedSum([up.signal, jumped], [up.noise, drawn]) };
    },
  };
}

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
 * both outputs. An edit that begins further on takes its own first step again, as diffusers does.
 */
function createPndm(config: SchedulerConfig, { steps, begin = 0 }: SchedulerOptions): Scheduler {
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
    ...UNSCALED,
    timesteps,
    levelOf: (index) => levelOfAlphaBar(bars[timesteps[index] ?? 0] ?? 1),
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
    step(output, index, sample) {
      const timestep = timesteps[index] ?? 0;
      const level = levelOfAlphaBar(bars[timestep] ?? 1);
      const { clean } = predict(config.prediction_type, level, output, sample);
      if (index === begin + 1 && start) {
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
