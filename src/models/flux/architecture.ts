import { float32 } from "../../runtime/tensors/tensor.js";
import { type ImageArchitecture, zeros } from "../diffusion/image-architecture.js";

/** Flux.1 schnell and dev: T5 for the text, CLIP for one vector of it, latents in squares of four. */
export const flux: ImageArchitecture = {
  packing: "squares",
  timestep: (timestep) => timestep / 1_000,
  usesEvenSigmas: true,
  traits: ({ denoiser }) => ({
    latentChannels: denoiser.in_channels / 4,
    latentMultiple: 2,
    latentSide: denoiser.sample_size ?? 128,
    ...(denoiser.guidance_embeds
      ? { steps: 28, guidance: 3.5, promptTokens: 512 }
      : { steps: 4, guidance: 0, promptTokens: 256 }),
    usesNegativePrompt: false,
  }),
  async encode(encoders, text) {
    const clip = await encoders.run("text-encoder", text, ["pooled"]);
    const t5 = await encoders.run("text-encoder-2", text, ["last"], encoders.promptTokens);
    return { context: t5.last, pooled: clip.pooled };
  },
  constants: ({ rows, columns, guidance, contextTokens }) => ({
    guidance: float32(Float32Array.of(guidance), [1]),
    imageIds: positions(rows / 2, columns / 2),
    textIds: zeros([contextTokens, 3]),
  }),
};

/** Place of each token [rows × columns, 3]: 0, row, column. */
export function positions(rows: number, columns: number) {
  const ids = new Float32Array(rows * columns * 3);
  for (let token = 0; token < rows * columns; token += 1) {
    ids[token * 3 + 1] = Math.floor(token / columns);
    ids[token * 3 + 2] = token % columns;
  }
  return float32(ids, [rows * columns, 3]);
}
