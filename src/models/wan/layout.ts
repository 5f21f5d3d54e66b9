import { z } from "zod";
import { component, findClassName, schedulerFile } from "../diffusion/layout.js";
import {
  type Layout,
  present,
  requireFile,
  requireGraph,
  smallest,
} from "../../runtime/packages/layout.js";
import type { ModelFolder } from "../../runtime/packages/model-folder.js";

const modelIndex = z.object({
  boundary_ratio: z.number().min(0).max(1).nullish(),
  expand_timesteps: z.boolean().nullish(),
});
const scheduler = z.object({ _class_name: z.string(), stochastic_sampling: z.boolean().nullish() });
const transformer = z.object({
  in_channels: z.int(),
  image_dim: z.int().nullish(),
  pos_embed_seq_len: z.int().nullish(),
});
const autoencoder = z.object({
  z_dim: z.int().default(16),
  scale_factor_spatial: z.int().positive().default(8),
  scale_factor_temporal: z.int().positive().default(4),
});
const tokenizerConfig = z.object({ model_max_length: z.number().nullish() });

/** What no file of the folder says: these families were trained on 81 frames, 16 a second. */
const FRAME_RATE = 16;
const NATIVE = [480, 832] as const;
/** Of Wan 2.2 5B, whose autoencoder makes 16 pixels of a latent: 121 frames, 24 a second. */
const LARGE = { frameRate: 24, native: [704, 1280] } as const;
const SECONDS = { minSeconds: 4, maxSeconds: 5 };
/** UMT5 reads as many of a prompt. */
const PROMPT_TOKENS = 512;

/** A sound of the operator's, which goes below the clips: without one they are silent. */
const SOUND_BEDS = ["wav", "flac", "ogg", "mp3"].map((ending) => `sound_bed.${ending}`);

/** Roles of a transformer's graphs where they are several, named as their files. */
export const PARTS = ["first-block", "remaining-blocks", "head"];

const SERVED = /^(ORT)?Wan(ImageToVideo)?Pipeline$/;

/** What the references take, and what models that were taught to jump do. */
const ONE_DENOISER = { steps: 50, guidance: 5 };
const TWO_DENOISERS = { steps: 40, guidance: [4, 3] };
const DISTILLED = { steps: 4, guidance: 1 };

/** Wan 2.1 and 2.2 from text or a picture, in diffusers' folders with each graph exported to its own. */
export const wanVideo: Layout = {
  lookedFor:
    "model_index.json of WanPipeline or WanImageToVideoPipeline with text_encoder/, transformer/ and vae_decoder/ (diffusers)",
  async recognise(folder) {
    const className = await findClassName(folder);
    if (className === undefined || !/^(ORT)?Wan/.test(className)) return undefined;
    const index = await folder.readJson("model_index.json", modelIndex);
    if (!SERVED.test(className))
      throw new Error(
        `${folder.name} is made for ${className}, whose layout is not served: of Wan's pipelines WanPipeline and WanImageToVideoPipeline are`,
      );
    const isPair =
      folder.findGraph("transformer_2/model", "transformer_2/first_block") !== undefined;
    const boundary = index?.boundary_ratio ?? undefined;
    if (isPair !== (boundary !== undefined))
      throw new Error(
        `${folder.name} must have transformer_2/ and boundary_ratio in model_index.json, or neither`,
      );
    const conditioning = await conditioningOf(folder, {
      animates: className.includes("ImageToVideo"),
      expands: index?.expand_timesteps ?? false,
    });
    const files = present({
      "model-index": "model_index.json",
      "scheduler-config": schedulerFile(folder),
      ...component(folder, "text-encoder", "text_encoder"),
      tokenizer: requireFile(
        folder,
        "tokenizer/tokenizer.json",
        "the words of UMT5 are read of it alone, not of vocab.json, merges.txt or spiece.model",
      ),
      "tokenizer-config": folder.find("tokenizer/tokenizer_config.json"),
      ...transformerFiles(folder, "transformer", ""),
      ...(isPair && transformerFiles(folder, "transformer_2", "-2")),
      ...component(folder, "vae-decoder", "vae_decoder"),
      ...pictureFiles(folder, conditioning),
      "sound-bed": folder.find(...SOUND_BEDS),
    });
    return {
      modality: "video",
      pipeline: "wan-video",
      files,
      ahead: 1,
      shapes: { ...(await shapesOf(folder)), reads: conditioning.reads },
      sampler: await samplerOf(folder, boundary),
      limits: SECONDS,
    };
  },
};

/** One graph, or the parts of which a step may leave out the largest. */
function transformerFiles(folder: ModelFolder, place: string, suffix: string) {
  const inParts = folder.findGraph(`${place}/first_block`) !== undefined;
  const graphs = Object.fromEntries(PARTS.map((part) => [part + suffix, part.replace("-", "_")]));
  return component(folder, `denoiser${suffix}`, place, inParts ? graphs : undefined);
}

/** What a clip of the model is made from, and what of the folder reads it. */
interface Conditioning {
  readonly reads: readonly ("text" | "image")[];
  readonly hasImageEncoder: boolean;
}

/** Throws a sentence for a transformer whose channels are none of those that Wan's models read. */
async function conditioningOf(
  folder: ModelFolder,
  { animates, expands }: { readonly animates: boolean; readonly expands: boolean },
): Promise<Conditioning> {
  const config = await folder.readJson("transformer/config.json", transformer);
  if (config === undefined) throw new Error(`${folder.name} has no transformer/config.json`);
  const { z_dim, scale_factor_temporal } = await readAutoencoder(folder);
  const { in_channels, image_dim, pos_embed_seq_len } = config;
  const withPicture = 2 * z_dim + scale_factor_temporal;
  if (typeof pos_embed_seq_len === "number")
    throw new Error(
      `${folder.name} goes from a first picture to a last one (pos_embed_seq_len), which is not served: models that begin with one are`,
    );
  if (in_channels === withPicture)
    return { reads: ["image"], hasImageEncoder: typeof image_dim === "number" };
  if (in_channels !== z_dim)
    throw new Error(
      `${folder.name}: its transformer takes ${in_channels} channels, which is not served: ${z_dim} are (text) or ${withPicture} (a picture, with its latents and their mask)`,
    );
  if (animates && !expands)
    throw new Error(
      `${folder.name} is made for pictures, and its transformer takes ${in_channels} channels: that is served with expand_timesteps in model_index.json (Wan 2.2 5B), else with ${withPicture} channels`,
    );
  const reads = expands && (animates || folder.findGraph("vae_encoder/model") !== undefined);
  return { reads: reads ? ["text", "image"] : ["text"], hasImageEncoder: false };
}

function pictureFiles(folder: ModelFolder, { reads, hasImageEncoder }: Conditioning) {
  return {
    ...(reads.includes("image") && component(folder, "vae-encoder", "vae_encoder")),
    ...(hasImageEncoder && {
      ...component(folder, "image-encoder", "image_encoder"),
      "image-processor-config": requireFile(
        folder,
        "image_processor/preprocessor_config.json",
        "it says how a picture becomes pixels",
      ),
    }),
  };
}

async function readAutoencoder(folder: ModelFolder): Promise<z.infer<typeof autoencoder>> {
  const config = await folder.readJson("vae_decoder/config.json", autoencoder);
  return config ?? autoencoder.parse({});
}

async function shapesOf(folder: ModelFolder): Promise<Record<string, unknown>> {
  const { scale_factor_spatial, scale_factor_temporal } = await readAutoencoder(folder);
  const isLarge = scale_factor_spatial > 8;
  return {
    frameRate: isLarge ? LARGE.frameRate : FRAME_RATE,
    native: isLarge ? LARGE.native : NATIVE,
    sizes: [[720, 1280]],
    tiers: folder.find(...SOUND_BEDS) === undefined ? ["fast"] : ["standard", "fast"],
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
