import { z } from "zod";
import { component, findClassName, schedulerFile, tokenizer } from "../diffusion/layout.js";
import { type Layout, present, requireGraph, smallest } from "../../runtime/packages/layout.js";
import type { ModelFolder } from "../../runtime/packages/model-folder.js";

const modelIndex = z.object({
  boundary_ratio: z.number().min(0).max(1).nullish(),
  expand_timesteps: z.boolean().nullish(),
});
const scheduler = z.object({ _class_name: z.string(), stochastic_sampling: z.boolean().nullish() });
const transformer = z.object({ in_channels: z.int(), image_dim: z.int().nullish() });
const autoencoder = z.object({
  z_dim: z.int().default(16),
  scale_factor_spatial: z.int().positive().default(8),
  scale_factor_temporal: z.int().positive().default(4),
});
const tokenizerConfig = z.object({ model_max_length: z.number().nullish() });

/** What no file of the folder says: both families were trained on 81 frames, 16 a second. */
const FRAME_RATE = 16;
const NATIVE = [480, 832] as const;
const SECONDS = { minSeconds: 4, maxSeconds: 5 };
/** UMT5 reads as many of a prompt. */
const PROMPT_TOKENS = 512;

/** What the references take, and what models that were taught to jump do. */
const ONE_DENOISER = { steps: 50, guidance: 5 };
const TWO_DENOISERS = { steps: 40, guidance: [4, 3] };
const DISTILLED = { steps: 4, guidance: 1 };

/** Wan 2.1 and 2.2 from text to video, in diffusers' folders with each graph exported to its own. */
export const wanVideo: Layout = {
  lookedFor:
    "model_index.json of WanPipeline with text_encoder/, transformer/ and vae_decoder/ (diffusers)",
  async recognise(folder) {
    const className = await findClassName(folder);
    if (className === undefined || !/^(ORT)?Wan/.test(className)) return undefined;
    const index = await folder.readJson("model_index.json", modelIndex);
    refuseOthers(folder, className, index?.expand_timesteps ?? false);
    const isPair = folder.findGraph("transformer_2/model") !== undefined;
    const boundary = index?.boundary_ratio ?? undefined;
    if (isPair !== (boundary !== undefined))
      throw new Error(
        `${folder.name} must have transformer_2/ and boundary_ratio in model_index.json, or neither`,
      );
    const files = present({
      "model-index": "model_index.json",
      "scheduler-config": schedulerFile(folder),
      ...component(folder, "text-encoder", "text_encoder"),
      ...tokenizer(folder, "", "tokenizer"),
      ...component(folder, "denoiser", "transformer"),
      ...(isPair && component(folder, "denoiser-2", "transformer_2")),
      ...component(folder, "vae-decoder", "vae_decoder"),
    });
    return {
      modality: "video",
      pipeline: "wan-video",
      files,
      ahead: 1,
      shapes: await shapesOf(folder),
      sampler: await samplerOf(folder, boundary),
      limits: SECONDS,
    };
  },
};

function refuseOthers(folder: ModelFolder, className: string, expandsTimesteps: boolean): void {
  const what = `${folder.name} is made for ${className}, whose layout is not served`;
  if (!/^(ORT)?WanPipeline$/.test(className))
    throw new Error(`${what}: of Wan's pipelines WanPipeline is, from text to video`);
  if (expandsTimesteps)
    throw new Error(
      `${what} with expand_timesteps (Wan 2.2 5B): models that take one timestep a clip are`,
    );
}

async function shapesOf(folder: ModelFolder): Promise<Record<string, unknown>> {
  const denoiser = await folder.readJson("transformer/config.json", transformer);
  const { z_dim, scale_factor_spatial, scale_factor_temporal } =
    (await folder.readJson("vae_decoder/config.json", autoencoder)) ?? autoencoder.parse({});
  if (denoiser === undefined) throw new Error(`${folder.name} has no transformer/config.json`);
  if (denoiser.in_channels !== z_dim || typeof denoiser.image_dim === "number")
    throw new Error(
      `${folder.name}: the transformer takes ${denoiser.in_channels} channels of ${z_dim} latent ones: models that begin from a picture are not served`,
    );
  return {
    frameRate: FRAME_RATE,
    native: NATIVE,
    sizes: [[720, 1280]],
    tiers: ["fast"],
    reads: ["text"],
    spatialStride: scale_factor_spatial,
    temporalStride: scale_factor_temporal,
    promptTokens: await promptTokens(folder),
  };
}

/** What the graph was exported with, or what the tokenizer allows. */
async function promptTokens(folder: ModelFolder): Promise<number> {
  const { inputs } = folder.outline(requireGraph(folder, "text_encoder/model"));
  const exported = inputs.find(({ name }) => name === "input_ids")?.dims[1];
  if (typeof exported === "number" && exported > 0) return exported;
  const config = await folder.readJson("tokenizer/tokenizer_config.json", tokenizerConfig);
  return smallest(config?.model_max_length, PROMPT_TOKENS) ?? PROMPT_TOKENS;
}

async function samplerOf(folder: ModelFolder, guidanceBoundary: number | undefined) {
  const config = await folder.readJson("scheduler/scheduler_config.json", scheduler);
  // oxlint-disable-next-line no-underscore-dangle
  const jumps = config?._class_name === "FlowMatchLCMScheduler" || config?.stochastic_sampling;
  const usual = guidanceBoundary === undefined ? ONE_DENOISER : TWO_DENOISERS;
  return {
    ...(jumps ? DISTILLED : usual),
    ...(guidanceBoundary !== undefined && { guidanceBoundary }),
  };
}
