import { concatFloats, float32, type Tensor } from "../../runtime/tensors/tensor.js";
import type { ImageArchitecture } from "../diffusion/image-architecture.js";

/** What Sana was trained to read before a prompt (Xie et al. 2024, section 2.3; as diffusers has it). */
const INSTRUCTION = [
  "Given a user prompt, generate an 'Enhanced prompt' that provides detailed visual descriptions suitable for image generation. Evaluate the level of detail in the user prompt:",
  "- If the prompt is simple, focus on adding specifics about colors, shapes, sizes, textures, and spatial relationships to create vivid and concrete scenes.",
  "- If the prompt is already detailed, refine and enhance the existing details slightly without overcomplicating.",
  "Here are examples of how to transform or refine prompts:",
  "- User Prompt: A cat sleeping -> Enhanced: A small, fluffy white cat curled up in a round shape, sleeping peacefully on a warm sunny windowsill, surrounded by pots of blooming red flowers.",
  "- User Prompt: A busy city street -> Enhanced: A bustling city street scene at dusk, featuring glowing street lamps, a diverse crowd of people in colorful clothing, and a double-decker bus passing by towering glass skyscrapers.",
  "Please generate only the enhanced description for the prompt below and avoid including any additional commentary or evaluations:",
  "User Prompt: ",
].join("\n");

/** Sana: Gemma 2 for the text, after an instruction of which only the first token is kept. */
export const sana: ImageArchitecture = {
  packing: "grid",
  usesEvenSigmas: false,
  traits: ({ denoiser }) => ({
    latentChannels: denoiser.in_channels,
    latentMultiple: 1,
    latentSide: denoiser.sample_size ?? 32,
    steps: 20,
    guidance: 4.5,
    usesNegativePrompt: true,
    masksPadding: true,
    promptTokens: 300,
  }),
  async encode(encoders, text, isNegative) {
    const { promptTokens } = encoders;
    const words = text.toLowerCase().trim();
    const outputs = ["last", "mask"] as const;
    if (isNegative) {
      const { last, mask } = await encoders.run("text-encoder", words, outputs, promptTokens);
      return { context: last, mask };
    }
    // Room for the instruction with its first token, and for the prompt without its first and one more.
    const tokens = encoders.count(INSTRUCTION) + 1 + promptTokens - 2;
    const states = await encoders.run("text-encoder", INSTRUCTION + words, outputs, tokens);
    const { last, mask } = states;
    return { context: firstAndLast(last, promptTokens), mask: firstAndLast(mask, promptTokens) };
  },
  constants: () => ({}),
};

/** The first and the last of the tokens of [1, tokens] or [1, tokens, features], `count` in all. */
function firstAndLast({ data, dims }: Tensor, count: number): Tensor {
  if (!(data instanceof Float32Array)) throw new TypeError("text states must be float32");
  const [, tokens = 0, ...features] = dims;
  const width = data.length / tokens;
  const kept = [data.subarray(0, width), data.subarray((tokens - count + 1) * width)];
  return float32(concatFloats(kept), [1, count, ...features]);
}
