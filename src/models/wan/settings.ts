import { z } from "zod";
import { type ModelPackage, readModelJson } from "../../runtime/packages/model-package.js";
import { parseSettings } from "../../runtime/packages/parse-settings.js";

const guidance = z.union([z.number(), z.tuple([z.number(), z.number()])]);

/** What model.json says of a Wan model. */
const packageSettings = z.object({
  shapes: z.object({
    frameRate: z.int().positive(),
    /** Height and width of the frames that the model makes, in pixels. */
    native: z.tuple([z.int().positive(), z.int().positive()]),
    /** Pixels of a side for one latent, and frames for each latent frame after the first. */
    spatialStride: z.int().positive(),
    temporalStride: z.int().positive(),
    /** Tokens of a prompt, padding included. */
    promptTokens: z.int().positive(),
    /** Latent frames of one run of the decoder, and how many of them a later window sees again. */
    windowLatents: z.int().min(2).optional(),
    overlapLatents: z.int().min(1).optional(),
  }),
  sampler: z
    .object({
      steps: z.int().positive().optional(),
      /** Instead of steps: the list that a distilled model was taught, of 1 000, before the scheduler's shift. */
      timesteps: z.array(z.number().positive().max(1_000)).min(1).optional(),
      /** One for each denoiser; 1 asks a denoiser once a step, without the negative prompt. */
      guidance: guidance.optional(),
      /** Share of the noise schedule from which on the first denoiser works, where there are two. */
      guidanceBoundary: z.number().min(0).max(1).optional(),
      /** Relative change of the first block's work up to which a step reuses that of the others; 0: none does. */
      cacheThreshold: z.number().min(0).max(1).default(0),
    })
    .refine(({ steps, timesteps }) => steps === undefined || timesteps === undefined, {
      message: "must have steps or timesteps, got both",
    }),
});

const denoiserConfig = z.object({
  in_channels: z.int().positive(),
  patch_size: z.tuple([z.int(), z.int().positive(), z.int().positive()]).default([1, 2, 2]),
});

/** Whether each token has a timestep of its own, so that a frame can be without noise (Wan 2.2 5B). */
const modelIndex = z.object({ expand_timesteps: z.boolean().nullish() });

const autoencoderConfig = z.object({
  latents_mean: z.array(z.number()).min(1),
  latents_std: z.array(z.number()).min(1),
});

type Shapes = z.infer<typeof packageSettings>["shapes"];
type Sampler = z.infer<typeof packageSettings>["sampler"];

export interface WanSettings {
  readonly shapes: Shapes;
  readonly sampler: Omit<Sampler, "guidance"> & {
    readonly steps: number;
    /** Of the first and of the second denoiser. */
    readonly guidance: readonly [number, number];
  };
  /** Of the latents; the denoiser reads more of a model that begins from a picture. */
  readonly channels: number;
  readonly expandsTimesteps: boolean;
  /** Mean and standard deviation of each channel of the latents as the decoder knows them. */
  readonly mean: readonly number[];
  readonly std: readonly number[];
}

/** Where neither model.json nor a list of timesteps says. */
const STEPS = 50;
const GUIDANCE = 5;

/** Reads the settings of a package. Throws an error that names the file, the field and the value. */
export async function readSettings(model: ModelPackage): Promise<WanSettings> {
  const manifest = `${model.path}/model.json`;
  const { shapes, sampler } = parseSettings(packageSettings, { sampler: {}, ...model }, manifest);
  if (sampler.cacheThreshold > 0 && model.files["first-block"] === undefined)
    throw new Error(
      `${manifest}: sampler.cacheThreshold must be 0 for a transformer in one graph, got ${sampler.cacheThreshold}: export it with --parts`,
    );
  const denoiser = await readModelJson(model, "denoiser-config", denoiserConfig);
  const scale = await readModelJson(model, "vae-decoder-config", autoencoderConfig);
  const { expand_timesteps } = await readModelJson(model, "model-index", modelIndex, {});
  const multiple = shapes.spatialStride * denoiser.patch_size[1];
  if (shapes.native.some((side) => side % multiple > 0))
    throw new Error(
      `${manifest}: shapes.native must be multiples of ${multiple}, got ${shapes.native.join(" × ")}`,
    );
  const channels = scale.latents_mean.length;
  const read = [channels, 2 * channels + shapes.temporalStride];
  if (scale.latents_std.length !== channels || !read.includes(denoiser.in_channels))
    throw new Error(
      `vae_decoder/config.json: latents_mean and latents_std must have as many values as the transformer has latents, which takes ${denoiser.in_channels} channels, got ${channels} and ${scale.latents_std.length}`,
    );
  return {
    shapes,
    sampler: settleSampler(sampler),
    channels,
    expandsTimesteps: expand_timesteps ?? false,
    mean: scale.latents_mean,
    std: scale.latents_std,
  };
}

function settleSampler({ guidance: stated, ...sampler }: Sampler): WanSettings["sampler"] {
  const both = stated ?? (sampler.timesteps ? 1 : GUIDANCE);
  return {
    ...sampler,
    steps: sampler.timesteps?.length ?? sampler.steps ?? STEPS,
    guidance: typeof both === "number" ? [both, both] : both,
  };
}
