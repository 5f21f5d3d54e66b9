import { type ImageArchitecture, sizeCondition } from "../diffusion/image-architecture.js";

/** service-image-1: one latent vector a picture, painted at any size; told the size as SDXL is. */
export const vectorScene: ImageArchitecture = {
  packing: "vector",
  timestep: (timestep) => timestep / 1_000,
  usesEvenSigmas: true,
  traits: ({ denoiser }) => ({
    latentChannels: denoiser.in_channels,
    latentMultiple: 1,
    latentSide: 128,
    steps: 24,
    guidance: 2,
    usesNegativePrompt: true,
    promptTokens: 32,
  }),
  async encode(encoders, text) {
    const { last } = await encoders.run("text-encoder", text, ["last"]);
    return { context: last };
  },
  constants: ({ height, width }) => ({ timeIds: sizeCondition(height, width) }),
};
