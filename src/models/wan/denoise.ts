import { JobError } from "../../core/errors.js";
import { guide } from "../diffusion/flow-euler.js";
import { createNoiseSource, gaussianNoise } from "../sampling/noise.js";
import type { Scheduler } from "../diffusion/schedulers/scheduler.js";
import type { DenoiseState } from "../video/checkpoint.js";
import type { Schedule } from "./schedule.js";
import type { LatentDims } from "./denoiser.js";
import type { PromptStates } from "./encode-prompt.js";
import type { WanModel } from "./wan-model.js";

export interface DenoiseInput {
  readonly model: Pick<WanModel, "denoisers">;
  readonly schedule: Schedule;
  readonly dims: LatentDims;
  /** The prompt, then what to move away from; that one is missing where no step has guidance. */
  readonly prompts: readonly [PromptStates, ...PromptStates[]];
  readonly seed: number;
  readonly signal: AbortSignal;
  /** Where an earlier attempt stopped. */
  readonly start?: DenoiseState | undefined;
}

/** Latents [channels, frames, rows, columns] from the seed's noise, yielding where it stands after each step. */
export async function* denoise(input: DenoiseInput): AsyncGenerator<DenoiseState, Float32Array> {
  const { schedule, signal, seed } = input;
  const { scheduler } = schedule;
  let state = resume(scheduler, input.start) ?? begin(scheduler, input);
  while (state.step < schedule.steps.length) {
    signal.throwIfAborted();
    const { step: index, sample } = state;
    const output = await ask(input, state);
    // The next values of the seed's sequence, whoever takes the step.
    const noise = createNoiseSource(seed, (index + 1) * even(sample.length));
    const next = scheduler.step(output, index, sample, noise).sample;
    checkFinite(next);
    state = { step: index + 1, sample: next, memory: scheduler.memory?.save() ?? [] };
    yield state;
  }
  return state.sample;
}

function begin({ initialNoiseSigma }: Scheduler, { dims, seed }: DenoiseInput): DenoiseState {
  const length = dims.reduce((product, size) => product * size, 1);
  const sample = gaussianNoise(seed, length).map((value) => value * initialNoiseSigma);
  return { step: 0, sample };
}

/** Undefined where the steps before left nothing that this scheduler can go on with. */
function resume(scheduler: Scheduler, start?: DenoiseState): DenoiseState | undefined {
  if (start === undefined) return undefined;
  const { step, memory = [] } = start;
  const isOver = step === scheduler.timesteps.length;
  return isOver || (scheduler.memory?.restore(step, memory) ?? true) ? start : undefined;
}

/** What the step's denoiser says of the latents, guided where the step has guidance. */
async function ask(
  { model, schedule, dims, prompts }: DenoiseInput,
  { step, sample }: DenoiseState,
): Promise<Float32Array> {
  const { denoiser: which, guidance } = schedule.steps[step] ?? { denoiser: 0, guidance: 1 };
  const denoiser = model.denoisers[which] ?? model.denoisers[0];
  const isGuided = guidance > 1;
  const answers = await denoiser({
    sample: schedule.scheduler.scaleInput(sample, step),
    timestep: schedule.scheduler.timesteps[step] ?? 0,
    dims,
    prompts: isGuided ? prompts : prompts.slice(0, 1),
  });
  return isGuided ? guide(answers, guidance) : answers;
}

/** Box–Muller draws pairs. */
function even(length: number): number {
  return length + (length % 2);
}

function checkFinite(sample: Float32Array): void {
  if (sample.every(Number.isFinite)) return;
  throw new JobError("invalid_output", "the denoiser produced values that are not numbers");
}
