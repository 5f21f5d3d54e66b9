import { concatFloats, elementCount, float32, type Tensor } from "../../runtime/tensors/tensor.js";
import type { DenoiserRole, Ports } from "./graph-ports.js";
import type { PromptEncoders } from "./prompt-encoders.js";
import type { DenoiserConfig } from "./settings.js";

/** What the denoiser reads of one prompt. */
export interface Condition {
  /** Text states [1, tokens, features]. */
  readonly context: Tensor;
  /** The prompt as one vector [1, features], where the model has one. */
  readonly pooled?: Tensor;
  /** Which tokens are no padding [1, tokens], where the model does not see that. */
  readonly mask?: Tensor;
}

/** The denoiser's configuration, what its graph declares and which scheduler it was made for. */
export interface TraitsInput {
  readonly denoiser: DenoiserConfig;
  readonly ports: Ports<DenoiserRole>;
  readonly scheduler: { readonly className: string; readonly spacing: string | undefined };
  /** Whether model_index.json says that it was taught to take few steps without guidance. */
  readonly isDistilled: boolean;
}

/** What an architecture of models has in common, settled for one model. */
export interface ImageTraits {
  readonly latentChannels: number;
  /** Whether the denoiser reads a mask and the masked picture beside the latents, as made for inpainting. */
  readonly readsMasked?: boolean;
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
  /** Whether the denoiser reads a mask of the tokens that are no padding. */
  readonly masksPadding?: boolean;
  /** Whether a picture that is edited stands beside the one that is made, as tokens of its own. */
  readonly readsReference?: boolean;
  /** Numbers in which a consistency model reads its guidance. */
  readonly guidanceFeatures?: number;
}

interface ConstantsInput {
  /** Pixels. */
  readonly width: number;
  readonly height: number;
  /** Latents. */
  readonly rows: number;
  readonly columns: number;
  readonly guidance: number;
  readonly guidanceFeatures?: number | undefined;
  readonly contextTokens: number;
  /** Latents of a picture that stands beside the one that is made. */
  readonly reference?: { readonly rows: number; readonly columns: number } | undefined;
}

/** One way to condition a denoiser; each architecture has its own. */
export interface ImageArchitecture {
  /**
   * Latents as a grid [channels, rows, columns], packed in squares of four [tokens, channels × 4], each a
   * token [tokens, channels], or as one vector [channels, 1, 1] whatever the size.
   */
  readonly packing: "grid" | "squares" | "tokens" | "vector";
  /** The scheduler's timestep as the graph reads it; as it is where absent. */
  timestep?(timestep: number): number;
  /** Noise levels 1, 1 − 1/steps, … 1/steps instead of the scheduler's own. */
  readonly usesEvenSigmas: boolean;
  /** mu of dynamic shifting; the scheduler's own line where absent. */
  shift?(tokens: number, steps: number): number;
  /** Whether the denoiser says the way from noise to the picture, where schedulers have the other. */
  readonly pointsToData?: boolean;
  /** A request's guidance as share of the way from what the prompt is not to what it is; the same where absent. */
  guidanceScale?(guidance: number): number;
  /** Variables of the chat template that prompts are written in; as they are where absent. */
  readonly chat?: Readonly<Record<string, unknown>>;
  traits(input: TraitsInput): ImageTraits;
  /** `isNegative` where the text is what the picture is to move away from. */
  encode(encoders: PromptEncoders, text: string, isNegative?: boolean): Promise<Condition>;
  /** Further inputs, the same at every step; leading dimension 1 where they belong to one sample. */
  constants(input: ConstantsInput): Readonly<Partial<Record<DenoiserRole, Tensor>>>;
}

/** Text states [1, tokens, features] side by side: as many features as all have together. */
export function joinFeatures(...parts: readonly Tensor[]): Tensor {
  const rows = parts[0]?.dims.at(-2) ?? 1;
  const widths = parts.map(({ dims }) => dims.at(-1) ?? 0);
  const width = widths.reduce((sum, part) => sum + part, 0);
  const joined = new Float32Array(rows * width);
  let start = 0;
  for (const [index, part] of parts.entries()) {
    const own = widths[index] ?? 0;
    const values = floats(part);
    for (let row = 0; row < rows; row += 1)
      joined.set(values.subarray(row * own, (row + 1) * own), row * width + start);
    start += own;
  }
  return float32(joined, [...(parts[0]?.dims.slice(0, -1) ?? []), width]);
}

/** Text states [1, tokens, features] one after the other; narrower ones are filled up with zeros. */
export function joinTokens(...parts: readonly Tensor[]): Tensor {
  const width = Math.max(...parts.map(({ dims }) => dims.at(-1) ?? 0));
  const padded = parts.map((part) => floats(widen(part, width)));
  const values = concatFloats(padded);
  return float32(values, [1, values.length / width, width]);
}

function widen(part: Tensor, width: number): Tensor {
  const missing = width - (part.dims.at(-1) ?? 0);
  if (missing === 0) return part;
  const dims = [...part.dims.slice(0, -1), missing];
  return joinFeatures(part, zeros(dims));
}

export function zeros(dims: readonly number[]): Tensor {
  return float32(new Float32Array(elementCount(dims)), dims);
}

/** Tensors of leading dimension 1 as one batch. */
export function stack(parts: readonly Tensor[]): Tensor {
  const [first] = parts;
  if (first === undefined || parts.length === 1) return first ?? zeros([0]);
  return float32(concatFloats(parts.map(floats)), [parts.length, ...first.dims.slice(1)]);
}

function floats({ type, data }: Tensor): Float32Array {
  if (data instanceof Float32Array) return data;
  throw new TypeError(`text states must be float32, got ${type}`);
}

/** Original size, place of the cut, wanted size [1, 6] (Podell et al. 2023, section 2.2): uncut. */
export function sizeCondition(height: number, width: number) {
  return float32(Float32Array.of(height, width, 0, 0, height, width), [1, 6]);
}
