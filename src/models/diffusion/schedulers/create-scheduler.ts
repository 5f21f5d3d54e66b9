import type { SchedulerConfig } from "./config.js";
import { createCogVideoXDdim, createDdim } from "./ddim.js";
import { createDdpm } from "./ddpm.js";
import { createDpmMultistep } from "./dpm-multistep.js";
import { createEuler, createEulerAncestral } from "./euler.js";
import { createFlowMatchEuler, createFlowMatchLcm } from "./flow-match.js";
import { createLcm } from "./lcm.js";
import { createLms } from "./lms.js";
import { createPndm } from "./pndm.js";
import type { Scheduler, SchedulerOptions } from "./scheduler.js";
import { createTcd } from "./tcd.js";
import { createUniPc } from "./unipc.js";

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

/** A scheduler for one sample. Throws a sentence that names a class or a setting that is not known. */
export function createScheduler(config: SchedulerConfig, options: SchedulerOptions): Scheduler {
  const name = config.className;
  const create = Object.hasOwn(FAMILIES, name) ? FAMILIES[name] : undefined;
  if (create === undefined) {
    const known = Object.keys(FAMILIES).join(", ");
    throw new Error(`the scheduler ${name} is not known: it must be one of ${known}`);
  }
  return create(config, options);
}
