import type { PipelineSetup } from "../core/modality.js";
import {
  type Autoencoder,
  createAutoencoder,
  type LatentScale,
  parseLatentScale,
} from "./diffusion/autoencoder.js";
import {
  DENOISER_INPUTS,
  type DenoiserRole,
  findPorts,
  type Ports,
} from "./diffusion/graph-ports.js";
import { readSchedulerConfig, type SchedulerConfig } from "./diffusion/schedulers/config.js";
import { createScheduler } from "./diffusion/schedulers/create-scheduler.js";
import {
  type ModelPackage,
  openModelGraphs,
  readModelText,
} from "../runtime/packages/model-package.js";
import type { Graphs } from "../runtime/ort/graphs.js";
import type { ImageTraits, ImageArchitecture } from "./diffusion/image-architecture.js";
import {
  ENCODER_ROLES,
  type WrittenPrompt,
  openHashedPrompts,
  openPromptEncoders,
  type PromptEncoders,
} from "./diffusion/prompt-encoders.js";
import { type PackageSettings, readSettings } from "./diffusion/settings.js";
import { openChatTemplate } from "./decoder/chat-template.js";
import { flux } from "./flux/architecture.js";
import { flux2Klein } from "./flux-2/architecture.js";
import { pixArtAlpha, pixArtSigma } from "./pixart/architecture.js";
import { sana } from "./sana/architecture.js";
import { stableDiffusion3 } from "./stable-diffusion/stable-diffusion-3.js";
import { stableDiffusion, stableDiffusionXl } from "./stable-diffusion/unet.js";
import { loadModelTokenizer } from "./tokenizer/text-tokenizer.js";
import { vectorScene } from "./vector-scene/architecture.js";
import { zImage } from "./z-image/architecture.js";

/** An open package of the pipeline `diffusion-image`. */
export interface ImageModel {
  readonly architecture: ImageArchitecture;
  readonly traits: ImageTraits;
  readonly scheduler: SchedulerConfig;
  readonly sessions: Graphs;
  readonly ports: Ports<DenoiserRole>;
  readonly encoders: PromptEncoders;
  readonly autoencoder: Autoencoder;
  /** Pixels of a side for one latent. */
  readonly factor: number;
  /** Native size in pixels. */
  readonly native: { readonly width: number; readonly height: number };
  /** The only sizes that are made, as [height, width] in pixels; any where absent. */
  readonly sizes?: readonly (readonly [number, number])[] | undefined;
  /** Whether there is an encoder of pictures: without one nothing can be edited. */
  readonly encodesPictures: boolean;
  /** A negative prompt that is absent is zeros, not the states of an empty text. */
  readonly zeroesEmptyPrompt: boolean;
  close(): Promise<void>;
}

/** Opens the package. Throws an error that names what is missing, not known or does not load. */
export async function openImageModel(
  model: ModelPackage,
  setup: PipelineSetup,
): Promise<ImageModel> {
  const settings = await readSettings(model);
  const architecture = findArchitecture(settings.index.className);
  const scheduler = readSchedulerConfig(await readModelText(model, "scheduler-config"));
  const encoderRoles = ENCODER_ROLES.filter((role) => model.files[role] !== undefined);
  const encodesPictures = model.files["vae-encoder"] !== undefined;
  const pictureRoles = encodesPictures ? ["vae-encoder", "vae-decoder"] : ["vae-decoder"];
  const roles = [...encoderRoles, "denoiser", ...pictureRoles];
  const sessions = await openModelGraphs(model, roles, setup);
  try {
    const { inputs, outputs } = sessions.info["denoiser"] ?? { inputs: [], outputs: [] };
    const ports = findPorts({ inputs, outputs }, DENOISER_INPUTS);
    const traits = settleTraits({ settings, architecture, scheduler, ports });
    checkParts(model, traits, ports);
    // An unknown scheduler stops the start, not the first request.
    createScheduler(scheduler, { steps: traits.steps, mu: 1 });
    const { promptTokens } = traits;
    const contextFeatures = settings.denoiser.joint_attention_dim ?? 0;
    const scale = parseLatentScale(settings.autoencoder);
    const sizes = settings.shapes.sizes ?? fixedSizes(ports, architecture, scale.factor);
    const side = traits.latentSide * scale.factor;
    const [height, width] = sizes?.[0] ?? [side, side];
    checkLatents(model, traits, scale);
    const write = architecture.chat && (await openPromptWriter(model, architecture.chat));
    const prompts = { model, sessions, promptTokens, contextFeatures, write };
    return {
      architecture,
      traits,
      scheduler,
      sessions,
      ports,
      encoders: openHashedPrompts(prompts) ?? (await openPromptEncoders(prompts)),
      autoencoder: createAutoencoder(sessions, scale),
      factor: scale.factor,
      native: { width, height },
      sizes,
      encodesPictures,
      zeroesEmptyPrompt: settings.index.zeroesEmptyPrompt,
      close: () => sessions.close(),
    };
  } catch (thrown) {
    await sessions.close();
    throw thrown;
  }
}

/** Refuses what would make other pictures than the model was trained for. */
function checkParts(
  { path, files }: ModelPackage,
  { readsMasked, masksPadding }: ImageTraits,
  { contextMask }: Ports<DenoiserRole>,
): void {
  if (readsMasked && files["vae-encoder"] === undefined)
    throw new Error(
      `${path} has no vae_encoder/model.onnx: its denoiser reads a masked picture beside the latents`,
    );
  if (masksPadding && contextMask === undefined)
    throw new Error(
      `${path}: the graph of the transformer has no input encoder_attention_mask, and would see the padding of prompts`,
    );
}

/** Refuses latents that are normalised by numbers that the package does not have. */
function checkLatents(
  { path }: ModelPackage,
  { latentChannels }: ImageTraits,
  { isOfSquares, channels }: LatentScale,
): void {
  if (!isOfSquares || channels?.mean.length === latentChannels) return;
  throw new Error(
    `${path}/vae_decoder/config.json must have latents_mean and latents_std of ${latentChannels} channels: bn.running_mean of the autoencoder, and the root of bn.running_var + batch_norm_eps`,
  );
}

/** Writes prompts in the tokenizer's chat template, as a user's only message. */
async function openPromptWriter(
  model: ModelPackage,
  variables: Readonly<Record<string, unknown>>,
): Promise<(prompt: string) => WrittenPrompt> {
  const { config, addedTokens } = await loadModelTokenizer(model);
  if (!model.files["chat-template"] && !config["chat_template"])
    throw new Error(
      `${model.path} has no chat template, in which its prompts are read: neither tokenizer/chat_template.jinja nor one in tokenizer/tokenizer_config.json`,
    );
  if (config["padding_side"] === "left")
    throw new Error(
      `${model.path}/tokenizer/tokenizer_config.json has padding_side left: its prompts are filled on the right`,
    );
  const template = await openChatTemplate(model, addedTokens);
  return (prompt) => template.render([{ role: "user", content: prompt }], [], variables);
}

/** The one size that a denoiser was exported for, as [height, width] in pixels. */
function fixedSizes(
  { sample }: Ports<DenoiserRole>,
  { packing }: ImageArchitecture,
  factor: number,
): [number, number][] | undefined {
  const [, , rows, columns] = packing === "grid" ? (sample?.dims ?? []) : [];
  if (typeof rows !== "number" || typeof columns !== "number" || Math.min(rows, columns) < 1)
    return undefined;
  return [[rows * factor, columns * factor]];
}

interface PackageTraits {
  readonly settings: PackageSettings;
  readonly architecture: ImageArchitecture;
  readonly scheduler: SchedulerConfig;
  readonly ports: Ports<DenoiserRole>;
}

/** What the package says goes before what the architecture is known for. */
function settleTraits({ settings, architecture, scheduler, ports }: PackageTraits): ImageTraits {
  const { denoiser, shapes, sampler } = settings;
  const traits = architecture.traits({
    denoiser,
    ports,
    scheduler: { className: scheduler.className, spacing: scheduler.timestep_spacing },
    isDistilled: settings.index.isDistilled,
  });
  return {
    ...traits,
    promptTokens: shapes.promptTokens ?? traits.promptTokens,
    steps: sampler.steps ?? traits.steps,
    guidance: sampler.guidance ?? traits.guidance,
  };
}

/** By `_class_name` of model_index.json, without what exporters and tasks add to it. */
const ARCHITECTURES: Readonly<Record<string, ImageArchitecture>> = {
  Flux: flux,
  Flux2Klein: flux2Klein,
  LatentConsistencyModel: stableDiffusion,
  PixArtAlpha: pixArtAlpha,
  PixArtSigma: pixArtSigma,
  Sana: sana,
  StableDiffusion: stableDiffusion,
  StableDiffusion3: stableDiffusion3,
  StableDiffusionXL: stableDiffusionXl,
  VectorScene: vectorScene,
  ZImage: zImage,
};

export function findArchitecture(className: string): ImageArchitecture {
  const name = className
    .replace(/^(ORT|Onnx)/, "")
    .replace(/(Img2Img|Inpaint)?Pipeline(Legacy)?$/, "");
  const architecture = Object.hasOwn(ARCHITECTURES, name) ? ARCHITECTURES[name] : undefined;
  if (architecture !== undefined) return architecture;
  const known = Object.keys(ARCHITECTURES).join(", ");
  throw new Error(
    `model_index.json: ${className} is not a pipeline that runs: it must be ${known}`,
  );
}
