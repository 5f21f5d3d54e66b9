import type { ImageArchitecture } from "../diffusion/image-architecture.js";

/** Tokens of a prompt come in blocks: the last one is filled with a token that the denoiser was taught. */
const BLOCK_TOKENS = 32;

/** Z-Image and its Turbo form: Qwen3 for the text, in its chat template, as many tokens as it has. */
export const zImage: ImageArchitecture = {
  packing: "grid",
  // 0 is noise and 1 the picture.
  timestep: (timestep) => (1_000 - timestep) / 1_000,
  pointsToData: true,
  usesEvenSigmas: true,
  // Counted from the prompt on: 0 is the prompt alone.
  guidanceScale: (guidance) => guidance + 1,
  chat: { enable_thinking: true },
  traits: ({ denoiser }) => ({
    latentChannels: denoiser.in_channels,
    latentMultiple: 2,
    latentSide: 128,
    steps: 50,
    guidance: 5,
    usesNegativePrompt: true,
    masksPadding: true,
    promptTokens: 512,
  }),
  async encode(encoders, text) {
    const { penultimate, mask } = await encoders.run(
      "text-encoder",
      text,
      ["penultimate", "mask"],
      {
        multiple: BLOCK_TOKENS,
        most: encoders.promptTokens,
      },
    );
    return { context: penultimate, mask };
  },
  constants: () => ({}),
};
