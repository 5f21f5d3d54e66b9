import { fewStepSigmas, guide } from "../diffusion/schedulers/flow-match.js";
import type { SchedulerConfig } from "../diffusion/schedulers/config.js";
import { createScheduler } from "../diffusion/schedulers/create-scheduler.js";
import { checkFinite, type Scheduler } from "../diffusion/schedulers/scheduler.js";
import { createNoiseSource, gaussianNoise } from "../sampling/noise.js";
import type { ComputedStep, DenoiseState } from "../video/checkpoint.js";
import type { ClipRequest } from "../video/video-model.js";
import type { Denoisers, EncodedStates, LatentDims, PictureCondition } from "./denoiser.js";
import { FirstBlockCache } from "./first-block-cache.js";
import type { WanSettings } from "./settings.js";

interface DenoiseInput {
  readonly model: { readonly denoisers: Denoisers };
  readonly schedule: Schedule;
  readonly dims: LatentDims;
  /** The prompt, then what to move away from; that one is missing where no step has guidance. */
  readonly prompts: readonly [EncodedStates, ...EncodedStates[]];
  readonly picture?: PictureCondition | undefined;
  readonly seed: number;
  readonly signal: AbortSignal;
  /** Where an earlier attempt stopped. */
  readonly start?: DenoiseState | undefined;
}

/** Latents [channels, frames, rows, columns] from the seed's noise, yielding where it stands after each step. */
export async function* denoise(input: DenoiseInput): AsyncGenerator<DenoiseState, Float32Array> {
  const cache = new FirstBlockCache(input.schedule.cacheThreshold);
  try {
    return yield* takeSteps(input, cache);
  } finally {
    cache.close();
  }
}

async function* takeSteps(
  input: DenoiseInput,
  cache: FirstBlockCache,
): AsyncGenerator<DenoiseState, Float32Array> {
  const { schedule, signal, seed } = input;
  const { scheduler } = schedule;
  let state = resume(scheduler, input.start) ?? begin(scheduler, input);
  await refill(input, state, cache);
  while (state.step < schedule.steps.length) {
    signal.throwIfAborted();
    const { step: index, sample } = state;
    const output = await ask(input, state, cache);
    // The next values of the seed's sequence, whoever takes the step; Box–Muller draws pairs.
    const drawn = sample.length + (sample.length % 2);
    const noise = createNoiseSource(seed, (index + 1) * drawn);
    const next = scheduler.step(output, index, sample, noise).sample;
    checkFinite(next);
    const memory = scheduler.memory?.save() ?? [];
    state = { step: index + 1, sample: next, memory, computed: cache.computed(input.prompts) };
    yield state;
  }
  return withPicture(state.sample, input);
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
  input: DenoiseInput,
  state: ComputedStep,
  cache: FirstBlockCache,
): Promise<Float32Array> {
  const { guidance } = scheduledStep(input.schedule, state.step);
  const isGuided = guidance > 1;
  const prompts = isGuided ? input.prompts : input.prompts.slice(0, 1);
  const answers = await askFor(prompts, input, { state, cache });
  return isGuided ? guide(answers, guidance) : answers;
}

interface Asking {
  readonly state: ComputedStep;
  readonly cache: FirstBlockCache;
}

/** The same for some of the prompts, answer by answer. */
async function askFor(
  prompts: readonly EncodedStates[],
  input: DenoiseInput,
  { state: { step, sample }, cache }: Asking,
): Promise<Float32Array> {
  const { model, schedule, dims, picture } = input;
  const { denoiser: which } = scheduledStep(schedule, step);
  const denoiser = model.denoisers[which] ?? model.denoisers[0];
  cache.enter(which, { step, sample });
  return await denoiser({
    sample: withPicture(schedule.scheduler.scaleInput(sample, step), input),
    timestep: schedule.scheduler.timesteps[step] ?? 0,
    dims,
    prompts,
    picture,
    cache,
  });
}

/** Computes anew what the cache held where an earlier attempt stopped, if the next step may reuse it. */
async function refill(
  input: DenoiseInput,
  { step, computed = [] }: DenoiseState,
  cache: FirstBlockCache,
): Promise<void> {
  const { schedule, prompts, signal } = input;
  const { denoiser } = scheduledStep(schedule, step);
  for (const [index, state] of computed.entries()) {
    if (scheduledStep(schedule, state.step).denoiser !== denoiser) continue;
    signal.throwIfAborted();
    await askFor(prompts.slice(index, index + 1), input, { state, cache });
  }
}

function scheduledStep({ steps }: Schedule, index: number): ScheduledStep {
  return steps[index] ?? { denoiser: 0, guidance: 1 };
}

/** The latents, whose first frame is the picture's where the model holds it. */
function withPicture(sample: Float32Array, { dims, picture }: DenoiseInput): Float32Array {
  const { firstFrame } = picture ?? {};
  if (firstFrame === undefined) return sample;
  const [channels, frames, rows, columns] = dims;
  const size = rows * columns;
  const held = sample.slice();
  for (let channel = 0; channel < channels; channel += 1)
    held.set(firstFrame.subarray(channel * size, (channel + 1) * size), channel * frames * size);
  return held;
}

/** Of which denoiser a step asks, and how strongly the prompt pulls there. */
interface ScheduledStep {
  readonly denoiser: number;
  readonly guidance: number;
}

/** The steps of one clip from noise to latents; each clip has a schedule of its own. */
export interface Schedule {
  readonly scheduler: Scheduler;
  /** One for each timestep of the scheduler. */
  readonly steps: readonly ScheduledStep[];
  /** Of what the steps reuse of each other; 0: nothing. */
  readonly cacheThreshold: number;
}

interface ScheduleSetup {
  readonly settings: WanSettings;
  readonly scheduler: SchedulerConfig;
}

/** Throws an error that names a scheduler that is not known, or cannot take a list of timesteps. */
export function planSchedule({ settings, scheduler: config }: ScheduleSetup): Schedule {
  const { steps, timesteps, guidance, guidanceBoundary } = settings.sampler;
  if (timesteps !== undefined && !config.className.startsWith("FlowMatch"))
    throw new Error(
      `sampler.timesteps is for FlowMatch schedulers, scheduler_config.json has ${config.className}`,
    );
  const sigmas = timesteps && fewStepSigmas(timesteps);
  const scheduler = createScheduler(config, { steps, ...(sigmas && { sigmas }) });
  const boundary = (guidanceBoundary ?? 0) * config.num_train_timesteps;
  const plan = scheduler.timesteps.map((timestep): ScheduledStep => {
    return timestep >= boundary
      ? { denoiser: 0, guidance: guidance[0] }
      : { denoiser: 1, guidance: guidance[1] };
  });
  return { scheduler, steps: plan, cacheThreshold: settings.sampler.cacheThreshold };
}

/** The model's own frames are 1 + temporal stride × (latent frames − 1); a clip takes as many as it needs. */
export function latentDims(settings: WanSettings, { seconds }: ClipRequest): LatentDims {
  const { native, spatialStride, temporalStride, frameRate } = settings.shapes;
  const [height, width] = native;
  const frames = 1 + Math.ceil((seconds * frameRate - 1) / temporalStride);
  return [settings.channels, frames, height / spatialStride, width / spatialStride];
}
