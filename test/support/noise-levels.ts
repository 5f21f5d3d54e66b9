import type { NoiseSource } from "#framemill/models/sampling/noise.js";
import { parseSchedulerConfig } from "#framemill/models/diffusion/schedulers/config.js";
import { createScheduler } from "#framemill/models/diffusion/schedulers/create-scheduler.js";
import type {
  Scheduler,
  SchedulerOptions,
} from "#framemill/models/diffusion/schedulers/scheduler.js";

/** Shares of signal and noise in a sample: `sample = signal × clean + noise × drawn`. */
export interface NoiseLevel {
  readonly signal: number;
  readonly noise: number;
}

/** Training timesteps of Stable Diffusion. */
const TRAINED = 1_000;

/** What scheduler_config.json says of Stable Diffusion's noise. */
export const STABLE_DIFFUSION_NOISE = {
  num_train_timesteps: TRAINED,
  beta_start: 0.00085,
  beta_end: 0.012,
  beta_schedule: "scaled_linear",
};

/** Shares of the signal's variance at each of its timesteps: betas whose roots are evenly spread. */
export const alphaBars: readonly number[] = cumulativeProducts(
  Array.from({ length: TRAINED }, (_, index) => {
    const share = index / (TRAINED - 1);
    return 1 - ((1 - share) * Math.sqrt(0.00085) + share * Math.sqrt(0.012)) ** 2;
  }),
);

export function levelOfBar(bar: number): NoiseLevel {
  return { signal: Math.sqrt(bar), noise: Math.sqrt(1 - bar) };
}

/** The level at a whole timestep. */
export function levelAtTimestep(timestep: number): NoiseLevel {
  return levelOfBar(alphaBars[timestep] ?? Number.NaN);
}

/** Noise over signal at a timestep; between two whole ones on the straight line. */
export function sigmaAtTimestep(timestep: number): number {
  const [low, high] = [Math.floor(timestep), Math.ceil(timestep)].map((whole) => {
    const { signal, noise } = levelAtTimestep(whole);
    return noise / signal;
  });
  return (low ?? 0) + ((high ?? 0) - (low ?? 0)) * (timestep - Math.floor(timestep));
}

/** A flow's level, 0 to 1, moved towards noise: of each part of noise `shift` remain for one of signal. */
export function shiftedLevel(level: number, shift: number): number {
  return (shift * level) / (shift * level + 1 - level);
}

function cumulativeProducts(factors: readonly number[]): number[] {
  let product = 1;
  return factors.map((factor) => (product *= factor));
}

/** Counted in multiples of the signal, which keeps its share. */
export const unscaledLevel = (sigma: number): NoiseLevel => ({ signal: 1, noise: sigma });

export const flowLevel = (sigma: number): NoiseLevel => ({ signal: 1 - sigma, noise: sigma });

/** Where every way ends that ends at the picture. */
export const NO_NOISE: NoiseLevel = { signal: 1, noise: 0 };

/** Four levels of Wan as it is published: even ones from 1 on, moved towards noise by 3. */
export const WAN_LEVELS: readonly number[] = [1, 0.75025, 0.5005, 0.25075].map((level) =>
  Math.min(shiftedLevel(level, 3), 1 - 1e-6),
);

/** One value of a picture, of the noise that it is hidden in, and of a later draw. */
export const PICTURE = 0.7;
export const NOISE = -1.3;
export const DRAWN = 0.4;

/** The value of picture and noise at a level. */
export function mixed({ signal, noise }: NoiseLevel): number {
  return signal * PICTURE + noise * NOISE;
}

const drawsNothing = (): never => {
  throw new Error("this scheduler draws nothing");
};
/** A noise source whose every value is the same. */
export const drawsOnce = (length: number) => new Float32Array(length).fill(DRAWN);

/** A scheduler of four steps over Stable Diffusion's noise. */
export function openScheduler(config: object, options: Partial<SchedulerOptions> = {}): Scheduler {
  const parsed = parseSchedulerConfig({ ...STABLE_DIFFUSION_NOISE, ...config });
  return createScheduler(parsed, { steps: 4, ...options });
}

/** One step of one value, at which the model says another. */
export function takeStep(
  scheduler: Scheduler,
  index: number,
  [sample, said]: readonly [number, number],
  noise: NoiseSource = drawsNothing,
) {
  const result = scheduler.step(Float32Array.of(said), index, Float32Array.of(sample), noise);
  return { sample: result.sample[0] ?? Number.NaN, clean: result.clean[0] ?? Number.NaN };
}
