import type { DenoiserRole, Ports } from "./graph-ports.js";
import type { Tensor } from "../../runtime/tensors/tensor.js";
import type { PromptEncoders } from "./prompt-encoders.js";
import type { DenoiserConfig } from "./settings.js";

/** What the denoiser is told of one prompt. */
export interface Condition {
  /** Text states [1, tokens, features]. */
  readonly context: Tensor;
  /** The prompt as one vector [1, features], where the model has one. */
  readonly pooled?: Tensor;
}

/** The denoiser's configuration, what its graph declares and which scheduler it was made for. */
export interface FamilyInput {
  readonly denoiser: DenoiserConfig;
  readonly ports: Ports<DenoiserRole>;
  readonly scheduler: { readonly className: string; readonly spacing: string | undefined };
}

/** What a family of models has in common, settled for one model. */
export interface FamilyTraits {
  readonly latentChannels: number;
  /** Latents a side must be a multiple of. */
  readonly latentMultiple: number;
  /** Latents of a side where neither request nor package names a size. */
  readonly latentSide: number;
  /** Steps and guidance where neither request nor package names them. */
  readonly steps: number;
  readonly guidance: number;
  /** Guided by a second run without the prompt; where not, guidance is an input or has no effect. */
  readonly usesNegativePrompt: boolean;
  /** Tokens of the longest text encoder. */
  readonly promptTokens: number;
}

export interface ConstantsInput {
  /** Pixels. */
  readonly width: number;
  readonly height: number;
  /** Latents. */
  readonly rows: number;
  readonly columns: number;
  readonly guidance: number;
  readonly contextTokens: number;
}

/** One way to condition a denoiser; each family of published models has its own. */
export interface ImageFamily {
  /**
   * Latents as a grid [channels, rows, columns], packed in squares of four [tokens, channels × 4], or as
   * one vector [channels, 1, 1] whatever the size.
   */
  readonly packing: "grid" | "squares" | "vector";
  /** What the scheduler's timestep is multiplied by for the graph. */
  readonly timestepScale: number;
  /** Noise levels 1, 1 − 1/steps, … 1/steps instead of the scheduler's own. */
  readonly usesEvenSigmas: boolean;
  traits(input: FamilyInput): FamilyTraits;
  encode(encoders: PromptEncoders, text: string): Promise<Condition>;
  /** Further inputs, the same at every step; leading dimension 1 where they belong to one sample. */
  constants(input: ConstantsInput): Readonly<Partial<Record<DenoiserRole, Tensor>>>;
}
