import type { SchedulerConfig } from "../diffusion/schedulers/config.js";
import { createScheduler } from "../diffusion/schedulers/create-scheduler.js";
import { fewStepSigmas } from "../diffusion/schedulers/flow-match.js";
import type { Scheduler } from "../diffusion/schedulers/scheduler.js";
import type { ClipRequest } from "../video/family.js";
import type { LatentDims } from "./denoiser.js";
import type { WanSettings } from "./settings.js";

/** Of which denoiser a step asks, and how strongly the prompt pulls there. */
export interface ScheduledStep {
  readonly denoiser: number;
  readonly guidance: number;
}

/** The steps of one clip from noise to latents; each clip has a schedule of its own. */
export interface Schedule {
  readonly scheduler: Scheduler;
  /** One for each timestep of the scheduler. */
  readonly steps: readonly ScheduledStep[];
}

export interface ScheduleSetup {
  readonly settings: WanSettings;
  readonly scheduler: SchedulerConfig;
}

/** Throws a sentence that names a scheduler that is not known, or cannot take a list of timesteps. */
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
  return { scheduler, steps: plan };
}

/** The model's own frames are 1 + temporal stride × (latent frames − 1); a clip takes as many as it needs. */
export function latentDims(settings: WanSettings, { seconds }: ClipRequest): LatentDims {
  const { native, spatialStride, temporalStride, frameRate } = settings.shapes;
  const [height, width] = native;
  const frames = 1 + Math.ceil((seconds * frameRate - 1) / temporalStride);
  return [settings.channels, frames, height / spatialStride, width / spatialStride];
}
