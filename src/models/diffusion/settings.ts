import { z } from "zod";
import { readModelJson, type ModelPackage } from "../../runtime/packages/model-package.js";
import { parseSettings } from "../../runtime/packages/parse-settings.js";

const denoiserConfig = z.object({
  in_channels: z.int().positive().default(4),
  sample_size: z
    .union([z.int(), z.tuple([z.int(), z.int()]).transform(([rows]) => rows)])
    .nullish(),
  block_out_channels: z.array(z.number()).nullish(),
  guidance_embeds: z.boolean().nullish(),
  joint_attention_dim: z.int().nullish(),
  time_cond_proj_dim: z.int().nullish(),
});

/** config.json of unet/ or transformer/. */
export type DenoiserConfig = z.infer<typeof denoiserConfig>;

const modelIndex = z
  .object({
    _class_name: z.string(),
    force_zeros_for_empty_prompt: z.boolean().optional(),
    is_distilled: z.boolean().nullish(),
  })
  .transform((index) => ({
    // oxlint-disable-next-line no-underscore-dangle
    className: index._class_name,
    zeroesEmptyPrompt: index.force_zeros_for_empty_prompt ?? false,
    isDistilled: index.is_distilled ?? false,
  }));

/** What model.json may say of an image model beyond its published files. */
const packageSettings = z.object({
  shapes: z.object({
    /** Height and width in pixels; the first is the native size. */
    sizes: z.array(z.tuple([z.int(), z.int()])).optional(),
    /** Tokens of the T5 encoder, where the model was made for other than the architecture's own. */
    promptTokens: z.int().positive().optional(),
  }),
  sampler: z
    .object({ steps: z.int().positive().optional(), guidance: z.number().optional() })
    .optional(),
});

export interface PackageSettings {
  readonly index: z.infer<typeof modelIndex>;
  readonly denoiser: DenoiserConfig;
  /** vae_decoder/config.json, for the autoencoder to read. */
  readonly autoencoder: unknown;
  readonly shapes: z.infer<typeof packageSettings>["shapes"];
  readonly sampler: NonNullable<z.infer<typeof packageSettings>["sampler"]>;
}

/** Reads the configurations of a package. Throws an error that names the file and the field. */
export async function readSettings(model: ModelPackage): Promise<PackageSettings> {
  const own = parseSettings(packageSettings, model, `${model.path}/model.json`);
  return {
    // An old layout has no configuration of its parts: then everything has its default.
    index: await readModelJson(model, "model-index", modelIndex, {}),
    denoiser: await readModelJson(model, "denoiser-config", denoiserConfig, {}),
    autoencoder: await readModelJson(model, "vae-decoder-config", z.unknown(), {}),
    shapes: own.shapes,
    sampler: own.sampler ?? {},
  };
}
