import { z } from "zod";
import { parseSettings } from "../../../runtime/packages/parse-settings.js";

const noiseSchedule = z.object({
  num_train_timesteps: z.int().positive().default(1_000),
  beta_start: z.number().default(0.0001),
  beta_end: z.number().default(0.02),
  beta_schedule: z.enum(["linear", "scaled_linear", "squaredcos_cap_v2"]).default("linear"),
  trained_betas: z.array(z.number()).nullish(),
  rescale_betas_zero_snr: z.boolean().default(false),
  prediction_type: z
    .enum(["epsilon", "v_prediction", "sample", "flow_prediction"])
    .default("epsilon"),
});

const spacing = z.object({
  timestep_spacing: z.enum(["linspace", "leading", "trailing"]).optional(),
  steps_offset: z.int().default(0),
  original_inference_steps: z.int().positive().default(50),
  timestep_scaling: z.number().default(10),
  timestep_type: z.enum(["discrete", "continuous"]).default("discrete"),
  interpolation_type: z.literal("linear").default("linear"),
  use_karras_sigmas: z.boolean().nullish(),
  use_exponential_sigmas: z.boolean().nullish(),
  use_beta_sigmas: z.literal(false).nullish(),
  use_lu_lambdas: z.literal(false).nullish(),
  sigma_min: z.number().nullish(),
  sigma_max: z.number().nullish(),
  final_sigmas_type: z.enum(["zero", "sigma_min"]).default("zero"),
});

const solver = z.object({
  solver_order: z.int().min(1).max(3).default(2),
  solver_type: z.string().optional(),
  algorithm_type: z.enum(["dpmsolver", "dpmsolver++", "sde-dpmsolver++"]).default("dpmsolver++"),
  lower_order_final: z.boolean().default(true),
  euler_at_final: z.boolean().default(false),
  predict_x0: z.boolean().default(true),
  disable_corrector: z.array(z.int()).default([]),
  variance_type: z.string().nullish(),
  skip_prk_steps: z.boolean().default(false),
  clip_sample: z.boolean().optional(),
  clip_sample_range: z.number().default(1),
  set_alpha_to_one: z.boolean().optional(),
  thresholding: z.literal(false).default(false),
  snr_shift_scale: z.number().default(3),
});

const flow = z.object({
  shift: z.number().default(1),
  use_flow_sigmas: z.boolean().nullish(),
  flow_shift: z.number().default(1),
  use_dynamic_shifting: z.boolean().default(false),
  time_shift_type: z.enum(["exponential", "linear"]).default("exponential"),
  base_shift: z.number().nullish(),
  max_shift: z.number().nullish(),
  base_image_seq_len: z.int().nullish(),
  max_image_seq_len: z.int().nullish(),
  shift_terminal: z.number().nullish(),
  invert_sigmas: z.boolean().default(false),
  stochastic_sampling: z.boolean().default(false),
  scale_factors: z.null().optional(),
});

/**
 * scheduler_config.json as diffusers writes it. What a file leaves out has the default of its class:
 * where classes differ, the field is optional here and the family's file settles it.
 */
const schedulerConfig = z
  .object({
    _class_name: z.string(),
    ...noiseSchedule.shape,
    ...spacing.shape,
    ...solver.shape,
    ...flow.shape,
  })
  .transform(({ _class_name: className, ...config }) => ({ ...config, className }));

export type SchedulerConfig = z.infer<typeof schedulerConfig>;

/** Reads the text of scheduler_config.json, which Python writes with infinities that are no JSON. */
export function readSchedulerConfig(text: string): SchedulerConfig {
  return parseSchedulerConfig(
    JSON.parse(text.replaceAll(/:\s*(-?Infinity|NaN)(?=\s*[,}])/g, ": null")),
  );
}

/** Throws an error that names the field. */
export function parseSchedulerConfig(json: unknown): SchedulerConfig {
  return parseSettings(schedulerConfig, json, "scheduler_config.json");
}
