import { float32 } from "../../runtime/tensors/tensor.js";
import { type ImageArchitecture, joinFeatures } from "../diffusion/image-architecture.js";

/** Layers of Qwen3 whose states are read side by side. */
const LAYERS = ["hidden_states.9", "hidden_states.18", "hidden_states.27"] as const;

/** What lies between the picture that is made and one that it is made from, on the axis of time. */
const REFERENCE_TIME = 10;

/** FLUX.2 klein and its undistilled base: Qwen3 for the text, in its chat template, padding and all. */
export const flux2Klein: ImageArchitecture = {
  packing: "tokens",
  timestep: (timestep) => timestep / 1_000,
  usesEvenSigmas: true,
  shift: empiricalShift,
  chat: { enable_thinking: false },
  traits: ({ denoiser, isDistilled }) => ({
    latentChannels: denoiser.in_channels,
    latentMultiple: 1,
    latentSide: 64,
    ...(isDistilled ? { steps: 4, guidance: 1 } : { steps: 50, guidance: 4 }),
    usesNegativePrompt: !isDistilled,
    readsReference: true,
    promptTokens: 512,
  }),
  async encode(encoders, text) {
    const states = await encoders.run("text-encoder", text, LAYERS, encoders.promptTokens);
    return { context: joinFeatures(...LAYERS.map((layer) => states[layer])) };
  },
  constants: ({ rows, columns, contextTokens, reference }) => ({
    imageIds: joinPlaces(
      places({ rows, columns }),
      ...(reference ? [places({ time: REFERENCE_TIME, ...reference })] : []),
    ),
    textIds: joinPlaces(places({ tokens: contextTokens })),
  }),
};

/** Greatest number of tokens at which the number of steps still counts. */
const STEPS_COUNT_UP_TO = 4_300;

/**
 * mu between two lines over the number of tokens, that of 10 steps and that of 200, as Black Forest Labs
 * fitted them (flux2's `compute_empirical_mu`).
 */
function empiricalShift(tokens: number, steps: number): number {
  const of200 = 0.000_169_27 * tokens + 0.456_666_66;
  if (tokens > STEPS_COUNT_UP_TO) return of200;
  const of10 = 8.738_095_24e-5 * tokens + 1.898_333_33;
  return of200 + ((of200 - of10) / 190) * (steps - 200);
}

interface Block {
  readonly time?: number;
  readonly rows?: number;
  readonly columns?: number;
  readonly tokens?: number;
}

/** Time, row, column and place in the text of each token of a block. */
function places({ time = 0, rows = 1, columns = 1, tokens = 1 }: Block): number[] {
  return Array.from({ length: rows * columns * tokens }, (_, index) => {
    const cell = Math.floor(index / tokens);
    return [time, Math.floor(cell / columns), cell % columns, index % tokens];
  }).flat();
}

/** Places [tokens, 4]. */
function joinPlaces(...blocks: readonly (readonly number[])[]) {
  const values = blocks.flat();
  return float32(Float32Array.from(values), [values.length / 4, 4]);
}
