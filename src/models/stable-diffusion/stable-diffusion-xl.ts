import { joinFeatures, sizeCondition } from "../diffusion/matrices.js";
import type { ImageFamily } from "../diffusion/family.js";
import { guidanceEmbedding, unetTraits } from "./stable-diffusion.js";

/** SDXL and its Turbo and Lightning forms: two CLIP encoders, and the size as a condition. */
export const stableDiffusionXl: ImageFamily = {
  packing: "grid",
  timestepScale: 1,
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
  constants: ({ guidance, height, width }) => ({
    timestepCondition: guidanceEmbedding(guidance),
    timeIds: sizeCondition(height, width),
  }),
};
