import { JobError } from "../../../core/errors.js";
import type { SchedulerConfig } from "./config.js";
import { type Level, levelOfFlow, levelOfSigma, predict, weightedSum } from "./prediction.js";

/** `count` values from `first` to `last`, both included. */
export function linspace(first: number, last: number, count: number): number[] {
  if (count === 1) return [first];
  const step = (last - first) / (count - 1);
  return Array.from({ length: count }, (_, index) => first + step * index);
}

/** Share of the signal's variance that is left at each training timestep, from near 1 to near 0. */
export function alphaBars(config: SchedulerConfig): number[] {
  let product = 1;
  const bars = trainingBetas(config).map((beta) => (product *= 1 - beta));
  return config.rescale_betas_zero_snr ? withZeroTerminalSnr(bars) : bars;
}

function trainingBetas(config: SchedulerConfig): readonly number[] {
  const { beta_start: first, beta_end: last, num_train_timesteps: count } = config;
  if (config.trained_betas) return config.trained_betas;
  if (config.beta_schedule === "linear") return linspace(first, last, count);
  if (config.beta_schedule === "scaled_linear")
    return linspace(Math.sqrt(first), Math.sqrt(last), count).map((root) => root ** 2);
  return Array.from({ length: count }, (_, index) =>
    Math.min(1 - cosineBar((index + 1) / count) / cosineBar(index / count), 0.999),
  );
}

/** Nichol & Dhariwal 2021, "Improved Denoising Diffusion Probabilistic Models", equation 17. */
function cosineBar(fraction: number): number {
  return Math.cos(((fraction + 0.008) / 1.008) * (Math.PI / 2)) ** 2;
}

/**
 * Moves the levels so that nothing of the signal is left at the last one (Lin et al. 2023, "Common
 * Diffusion Noise Schedules and Sample Steps are Flawed", algorithm 1).
 */
export function withZeroTerminalSnr(bars: readonly number[]): number[] {
  const roots = bars.map(Math.sqrt);
  const first = roots[0] ?? 1;
  const last = roots.at(-1) ?? 0;
  return roots.map((root) => ((root - last) * (first / (first - last))) ** 2);
}

/** Noise over signal of each training timestep, growing. */
function trainingSigmas(config: SchedulerConfig): number[] {
  const bars = alphaBars(config);
  // The signal of the last level must not vanish here, as noise is counted in its multiples.
  if (config.rescale_betas_zero_snr) bars[bars.length - 1] = 2 ** -24;
  return bars.map((bar) => Math.sqrt((1 - bar) / bar));
}

/** Moves a flow level, 0 to 1, towards noise (Esser et al. 2024, equation 23). */
export function shiftLevel(sigma: number, shift: number): number {
  return (shift * sigma) / (1 + (shift - 1) * sigma);
}

/** The value between two neighbours of `values` at a fractional index, held at both ends. */
function interpolate(values: readonly number[], position: number): number {
  const low = Math.min(Math.max(Math.floor(position), 0), values.length - 1);
  const below = values[low] ?? 0;
  const above = values[low + 1] ?? below;
  return below + (above - below) * Math.min(Math.max(position - low, 0), 1);
}

/** The timestep, with its fraction, whose noise level is `sigma`; `sigmas` grow with the timestep. */
function timestepOfSigma(sigma: number, sigmas: readonly number[]): number {
  const level = Math.log(Math.max(sigma, 1e-10));
  let low = sigmas.findLastIndex((candidate) => Math.log(candidate) <= level);
  low = Math.min(Math.max(low, 0), sigmas.length - 2);
  const below = Math.log(sigmas[low] ?? 1);
  const above = Math.log(sigmas[low + 1] ?? 1);
  return low + Math.min(Math.max((level - below) / (above - below), 0), 1);
}

/**
 * Noise levels as Karras et al. 2022 spread them, `max` to `min` (equation 5, rho 7, in "Elucidating the
 * Design Space of Diffusion-Based Generative Models").
 */
function karrasSigmas(max: number, min: number, count: number): number[] {
  const rho = 7;
  const roots = linspace(max ** (1 / rho), min ** (1 / rho), count);
  return roots.map((root) => root ** rho);
}

/** Respaces `sigmas` (falling) as the configuration asks; undefined where it does not. */
export function respacedSigmas(
  config: SchedulerConfig,
  sigmas: readonly number[],
  count: number,
): number[] | undefined {
  const max = config.sigma_max ?? sigmas[0] ?? 1;
  const min = config.sigma_min ?? sigmas.at(-1) ?? 0;
  if (config.use_karras_sigmas) return karrasSigmas(max, min, count);
  if (config.use_exponential_sigmas)
    return linspace(Math.log(max), Math.log(min), count).map(Math.exp);
  return undefined;
}

type Spacing = NonNullable<SchedulerConfig["timestep_spacing"]>;

/**
 * Training timesteps to visit, falling, by the three ways of Lin et al. 2023, table 2. `linspace` keeps
 * fractions.
 */
export function spreadTimesteps(
  { num_train_timesteps: trained, steps_offset: offset, timestep_spacing }: SchedulerConfig,
  steps: number,
  byDefault: Spacing,
): number[] {
  const spacing = timestep_spacing ?? byDefault;
  if (spacing === "linspace") return linspace(0, trained - 1, steps).toReversed();
  const falling = Array.from({ length: steps }, (_, index) => steps - 1 - index);
  if (spacing === "leading") {
    const stride = Math.floor(trained / steps);
    return falling.map((index) => index * stride + offset);
  }
  return trailingTimesteps(trained, steps);
}

/** As above, for the solvers that treat the last timestep as a goal and not as a step of its own. */
function spreadSolverTimesteps(
  { num_train_timesteps: trained, steps_offset: offset, timestep_spacing }: SchedulerConfig,
  steps: number,
): number[] {
  const spacing = timestep_spacing ?? "linspace";
  if (spacing === "trailing") return trailingTimesteps(trained, steps);
  const falling = Array.from({ length: steps }, (_, index) => steps - index);
  if (spacing === "leading") {
    const stride = Math.floor(trained / (steps + 1));
    return falling.map((index) => index * stride + offset);
  }
  return falling.map((index) => roundToEven((index * (trained - 1)) / steps));
}

function trailingTimesteps(trained: number, steps: number): number[] {
  const stride = trained / steps;
  return Array.from({ length: steps }, (_, index) => roundToEven(trained - index * stride) - 1);
}

/** Timesteps of a model distilled to skip: `steps` of the levels it was taught, evenly picked. */
export function distilledTimesteps(
  {
    num_train_timesteps: trained,
    original_inference_steps: known,
  }: Pick<SchedulerConfig, "num_train_timesteps" | "original_inference_steps">,
  steps: number,
  share = 1,
): number[] {
  const taught = Math.floor(known * share);
  if (steps > taught)
    throw new JobError(
      "invalid_value",
      `steps must be at most ${taught} for this model${share < 1 ? ` at strength ${share}` : ""}, got ${steps}`,
      {
        param: "steps",
      },
    );
  const stride = Math.floor(trained / known);
  return Array.from({ length: steps }, (_, index) => {
    const level = taught - Math.floor((index * taught) / steps);
    return level * stride - 1;
  });
}

/** Half goes to the even neighbour, as the timesteps that models were tuned with were rounded. */
export function roundToEven(value: number): number {
  const floor = Math.floor(value);
  if (value - floor !== 0.5) return Math.round(value);
  return floor % 2 === 0 ? floor : floor + 1;
}

interface SigmaLevels {
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
function solverLevels(config: SchedulerConfig, steps: number): SigmaLevels {
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

/**
 * Levels of a flow model, evenly spread, then moved towards noise by `flow_shift`: UniPC's from 1 down to
 * the least level, DPM-Solver's from below 1 by as much down to 0, as diffusers spreads them.
 */
function flowSolverLevels(config: SchedulerConfig, steps: number): SigmaLevels {
  const { num_train_timesteps: trained, flow_shift: shift } = config;
  const least = 1 / trained;
  const isUniPc = config.className === "UniPCMultistepScheduler";
  const sigmas = (isUniPc ? linspace(1, least, steps + 1) : linspace(1 - least, 0, steps + 1))
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
