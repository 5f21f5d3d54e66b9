import { float32 } from "../../runtime/tensors/tensor.js";
import {
  type TraitsInput,
  type ImageArchitecture,
  joinFeatures,
  sizeCondition,
} from "../diffusion/image-architecture.js";

const LATENT_CHANNELS = 4;
/** Latents, a mask, and the latents of the picture without what the mask shows. */
const INPAINTING_CHANNELS = 2 * LATENT_CHANNELS + 1;

/** Features of the guidance embedding of consistency models, where neither graph nor configuration says. */
const GUIDANCE_FEATURES = 256;

/** Stable Diffusion 1 and 2, their Turbo and latent consistency forms: one CLIP encoder. */
export const stableDiffusion: ImageArchitecture = {
  packing: "grid",
  usesEvenSigmas: false,
  traits: (input) => unetTraits(input, { latentSide: 64, steps: 30, guidance: 7.5 }),
  async encode(encoders, text) {
    const { last } = await encoders.run("text-encoder", text, ["last"]);
    return { context: last };
  },
  constants: ({ guidance, guidanceFeatures }) => ({
    timestepCondition: guidanceEmbedding(guidance, guidanceFeatures),
  }),
};

interface UnetDefaults {
  readonly latentSide: number;
  readonly steps: number;
  readonly guidance: number;
}

/** What is common to the U-Net models, distilled ones included. */
function unetTraits(input: TraitsInput, defaults: UnetDefaults) {
  const { denoiser, ports } = input;
  const readsMasked = denoiser.in_channels === INPAINTING_CHANNELS;
  return {
    latentChannels: readsMasked ? LATENT_CHANNELS : denoiser.in_channels,
    readsMasked,
    latentMultiple: 2 ** ((denoiser.block_out_channels?.length ?? 4) - 1),
    latentSide: denoiser.sample_size ?? defaults.latentSide,
    usesNegativePrompt: ports.timestepCondition === undefined,
    promptTokens: 77,
    guidanceFeatures: guidanceFeaturesOf(input),
    ...(distilledDefaults(input) ?? { steps: defaults.steps, guidance: defaults.guidance }),
  };
}

function guidanceFeaturesOf({ denoiser, ports }: TraitsInput): number {
  const declared = ports.timestepCondition?.dims[1];
  if (typeof declared === "number" && declared > 0) return declared;
  return denoiser.time_cond_proj_dim ?? GUIDANCE_FEATURES;
}

/** Models that were taught to take few steps, told by the scheduler they are published with. */
function distilledDefaults({ ports, scheduler }: TraitsInput) {
  const { className, spacing } = scheduler;
  if (ports.timestepCondition) return { steps: 4, guidance: 8.5 };
  if (className === "LCMScheduler" || className === "TCDScheduler")
    return { steps: 4, guidance: 0 };
  // Turbo and Lightning are published with Euler steps from the last timestep down.
  if (className.startsWith("Euler") && spacing === "trailing") return { steps: 4, guidance: 0 };
  return undefined;
}

/**
 * Sine and cosine features [1, count] of the guidance that a consistency model was distilled with
 * (Luo et al. 2023, section 4.1), as for timesteps in Vaswani et al. 2017.
 */
export function guidanceEmbedding(guidance: number, count = GUIDANCE_FEATURES) {
  const half = Math.floor(count / 2);
  // An odd count ends with a zero.
  const features = new Float32Array(count);
  for (let index = 0; index < half; index += 1) {
    const frequency = Math.exp((-Math.log(10_000) * index) / (half - 1));
    const angle = (guidance - 1) * 1_000 * frequency;
    features[index] = Math.sin(angle);
    features[half + index] = Math.cos(angle);
  }
  return float32(features, [1, count]);
}

/** SDXL and its Turbo and Lightning forms: two CLIP encoders, and the size as a condition. */
export const stableDiffusionXl: ImageArchitecture = {
  packing: "grid",
  usesEvenSigmas: false,
  traits: (input) => unetTraits(input, { latentSide: 128, steps: 30, guidance: 5 }),
  async encode(encoders, text) {
    const first = await encoders.run("text-encoder", text, ["penultimate"]);
    const second = await encoders.run("text-encoder-2", text, ["penultimate", "pooled"]);
    return {
      context: joinFeatures(first.penultimate, second.penultimate),
      pooled: second.pooled,
    };
  },
  constants: ({ guidance, guidanceFeatures, height, width }) => ({
    timestepCondition: guidanceEmbedding(guidance, guidanceFeatures),
    timeIds: sizeCondition(height, width),
  }),
};
