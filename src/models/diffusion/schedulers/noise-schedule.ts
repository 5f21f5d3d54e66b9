import type { SchedulerConfig } from "./config.js";

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
export function trainingSigmas(config: SchedulerConfig): number[] {
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
export function interpolate(values: readonly number[], position: number): number {
  const low = Math.min(Math.max(Math.floor(position), 0), values.length - 1);
  const below = values[low] ?? 0;
  const above = values[low + 1] ?? below;
  return below + (above - below) * Math.min(Math.max(position - low, 0), 1);
}

/** The timestep, with its fraction, whose noise level is `sigma`; `sigmas` grow with the timestep. */
export function timestepOfSigma(sigma: number, sigmas: readonly number[]): number {
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

/** Noise levels whose logarithms are evenly spread, `max` to `min`. */
function exponentialSigmas(max: number, min: number, count: number): number[] {
  return linspace(Math.log(max), Math.log(min), count).map(Math.exp);
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
  if (config.use_exponential_sigmas) return exponentialSigmas(max, min, count);
  return undefined;
}
