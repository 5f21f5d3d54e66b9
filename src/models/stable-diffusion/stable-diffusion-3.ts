import type { Tensor } from "../../runtime/tensors/tensor.js";
import {
  type ImageArchitecture,
  joinFeatures,
  joinTokens,
  zeros,
} from "../diffusion/image-architecture.js";
import type { PromptEncoders } from "../diffusion/prompt-encoders.js";

/** Features of T5-XXL, where the denoiser's configuration does not say what it takes. */
const T5_FEATURES = 4_096;

/** Stable Diffusion 3 and 3.5: two CLIP encoders side by side, then T5, which may be left out. */
export const stableDiffusion3: ImageArchitecture = {
  packing: "grid",
  usesEvenSigmas: false,
  traits: ({ denoiser }) => ({
    latentChannels: denoiser.in_channels,
    latentMultiple: 2,
    latentSide: denoiser.sample_size ?? 128,
    steps: 28,
    guidance: 7,
    usesNegativePrompt: true,
    promptTokens: 256,
  }),
  async encode(encoders, text) {
    const first = await encoders.run("text-encoder", text, ["penultimate", "pooled"]);
    const second = await encoders.run("text-encoder-2", text, ["penultimate", "pooled"]);
    const clip = joinFeatures(first.penultimate, second.penultimate);
    return {
      context: joinTokens(clip, await longText(encoders, text)),
      pooled: joinFeatures(first.pooled, second.pooled),
    };
  },
  constants: () => ({}),
};

/** T5's states; zeros where the package leaves it out to save memory. */
async function longText(encoders: PromptEncoders, text: string): Promise<Tensor> {
  const { promptTokens, contextFeatures } = encoders;
  if (!encoders.has("text-encoder-3"))
    return zeros([1, promptTokens, contextFeatures || T5_FEATURES]);
  return (await encoders.run("text-encoder-3", text, ["last"], promptTokens)).last;
}
