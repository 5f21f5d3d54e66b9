import { JobError } from "../../core/errors.js";
import type { Planes } from "../../models/diffusion/autoencoder.js";
import { createScheduler } from "../../models/diffusion/schedulers/create-scheduler.js";
import { dynamicShift } from "../../models/diffusion/schedulers/flow-match.js";
import type { Scheduler } from "../../models/diffusion/schedulers/scheduler.js";
import type { NoiseSource } from "../../models/sampling/noise.js";
import { createDenoiser, type DenoiserInput } from "./denoiser.js";
import type { ImageModel } from "../../models/image-model.js";

export interface DiffuseInput extends DenoiserInput {
  readonly steps: number;
  readonly noise: NoiseSource;
  readonly signal: AbortSignal;
}

/** A step that was taken. */
export interface DiffuseStep {
  /** Counted from 1. */
  readonly step: number;
  /** Runs of the denoiser in all; some schedulers take one more than asked for. */
  readonly steps: number;
  /** The finished latents as they look from here. */
  readonly clean: Planes;
}

/** Latents of one picture, from noise step by step. */
export async function* diffuse(input: DiffuseInput): AsyncGenerator<DiffuseStep, Planes> {
  const { grid, noise, signal } = input;
  const scheduler = planScheduler(input);
  const denoise = createDenoiser(input);
  const sigma = scheduler.initialNoiseSigma;
  const first = noise(grid.channels * grid.height * grid.width);
  let sample: Float32Array = first.map((value) => value * sigma);
  for (const [index, timestep] of scheduler.timesteps.entries()) {
    signal.throwIfAborted();
    const output = await denoise(scheduler.scaleInput(sample, index), timestep);
    const result = scheduler.step(output, index, sample, noise);
    checkFinite(result.sample);
    sample = result.sample;
    const clean = { ...grid, values: result.clean };
    yield { step: index + 1, steps: scheduler.timesteps.length, clean };
  }
  signal.throwIfAborted();
  return { ...grid, values: sample };
}

function planScheduler({ model, steps, grid }: DiffuseInput): Scheduler {
  const { family, scheduler } = model;
  const even = Array.from({ length: steps }, (_, index) => 1 - index / steps);
  return createScheduler(scheduler, {
    steps,
    ...(family.usesEvenSigmas && !scheduler.use_flow_sigmas && { sigmas: even }),
    mu: dynamicShift(scheduler, imageTokens(model, grid)),
  });
}

/** Transformers read latents in squares of two by two. */
function imageTokens({ traits }: ImageModel, { height, width }: DenoiserInput["grid"]): number {
  return (height * width) / traits.latentMultiple ** 2;
}

function checkFinite(sample: Float32Array): void {
  if (sample.every(Number.isFinite)) return;
  throw new JobError("invalid_output", "the denoiser produced values that are not numbers");
}
