import { float32 } from "../../runtime/tensors/tensor.js";
import type { ImageArchitecture } from "../diffusion/image-architecture.js";

/** PixArt-α and PixArt-Σ: T5 for the text, whose padding is not seen; as many tokens as they were trained on. */
function pixArt(promptTokens: number): ImageArchitecture {
  return {
    packing: "grid",
    usesEvenSigmas: false,
    traits: ({ denoiser }) => ({
      latentChannels: denoiser.in_channels,
      latentMultiple: 2,
      latentSide: denoiser.sample_size ?? 128,
      steps: 20,
      guidance: 4.5,
      usesNegativePrompt: true,
      masksPadding: true,
      promptTokens,
    }),
    async encode(encoders, text) {
      // In small letters, as the captions of the training were.
      const words = text.toLowerCase().trim();
      const outputs = ["last", "mask"] as const;
      const { last, mask } = await encoders.run(
        "text-encoder",
        words,
        outputs,
        encoders.promptTokens,
      );
      return { context: last, mask };
    },
    // Of PixArt-α of 1024 pixels alone.
    constants: ({ height, width }) => ({
      resolution: float32(Float32Array.of(height, width), [1, 2]),
      aspectRatio: float32(Float32Array.of(height / width), [1, 1]),
    }),
  };
}

export const pixArtAlpha = pixArt(120);
export const pixArtSigma = pixArt(300);
