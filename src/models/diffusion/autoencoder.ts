import { z } from "zod";
import { JobError } from "../../core/errors.js";
import type { Graphs } from "../../runtime/ort/graphs.js";
import { float32, floatsOf, int64Of } from "../../runtime/tensors/tensor.js";
import type { NoiseSource } from "../sampling/noise.js";
import { findOutput, findPorts } from "./graph-ports.js";

const autoencoderConfig = z.object({
  scaling_factor: z.number().nullish(),
  shift_factor: z.number().nullish(),
  latents_mean: z.array(z.number()).nullish(),
  latents_std: z.array(z.number()).nullish(),
  block_out_channels: z.array(z.number()).min(1).nullish(),
  /** Of deep compression autoencoders, which have no common list. */
  encoder_block_out_channels: z.array(z.number()).min(1).nullish(),
  /** Of FLUX.2's, whose latents are normalised in squares. */
  patch_size: z.tuple([z.literal(2), z.literal(2)]).nullish(),
});

/** How latents of a diffusion model and of its autoencoder go together. */
export interface LatentScale {
  /** Pixels of a picture's side for one latent. */
  readonly factor: number;
  /** Whether a latent of the diffusion model is a square of four of the autoencoder's. */
  readonly isOfSquares: boolean;
  readonly scaling: number;
  readonly shift: number;
  /** Mean and standard deviation of each channel, where the model was trained on normal ones. */
  readonly channels?: { readonly mean: readonly number[]; readonly std: readonly number[] };
}

/** Reads vae_decoder/config.json; what it leaves out is as in Stable Diffusion 1. */
export function parseLatentScale(json: unknown): LatentScale {
  const config = autoencoderConfig.parse(json);
  const { latents_mean: mean, latents_std: std } = config;
  const levels = config.block_out_channels ?? config.encoder_block_out_channels;
  const isOfSquares = Boolean(config.patch_size);
  return {
    factor: 2 ** ((levels?.length ?? 4) - (isOfSquares ? 0 : 1)),
    isOfSquares,
    scaling: config.scaling_factor ?? (isOfSquares ? 1 : 0.18215),
    shift: config.shift_factor ?? 0,
    ...(mean && std && { channels: { mean, std } }),
  };
}

/** A picture or its latents: [channels, height, width], float32. */
export interface Planes {
  readonly values: Float32Array;
  readonly channels: number;
  readonly height: number;
  readonly width: number;
}

/** Pixels. */
export interface PictureSize {
  readonly height: number;
  readonly width: number;
}

export interface Autoencoder {
  /** RGB in about [-1, 1] of a diffusion model's latents; of this size where the latents do not say. */
  decode(latents: Planes, size?: PictureSize): Promise<Planes>;
  /**
   * The latents of RGB in [-1, 1]: drawn from their distribution where there is noise and the graph gives
   * one, else its mean. Needs the role vae-encoder.
   */
  encode(picture: Planes, noise?: NoiseSource): Promise<Planes>;
}

const ROLES = {
  latents: { names: ["latent_sample", "latent", "latents", "z"], ranks: [4] },
  picture: { names: ["sample", "image", "images", "pixel_values"], ranks: [4] },
};
const PICTURE_OUTPUTS = ["sample", "image", "images"];
const LATENT_OUTPUTS = ["latent_parameters", "latent_sample", "latent", "latents"];

/** The graphs vae-decoder and vae-encoder of an open thread. */
export function createAutoencoder(sessions: Graphs, scale: LatentScale): Autoencoder {
  return {
    async decode(latents, size) {
      const raw = { ...latents, values: unscale(latents, scale) };
      const decoded = await run(
        sessions,
        "vae-decoder",
        scale.isOfSquares ? fromSquares(raw) : raw,
        size,
      );
      if (decoded.values.every(Number.isFinite)) return decoded;
      throw new JobError("invalid_output", "the decoder produced values that are not numbers");
    },
    async encode(picture, noise) {
      const encoded = await run(sessions, "vae-encoder", picture);
      const channels = encoded.isDistribution ? encoded.channels / 2 : encoded.channels;
      const length = channels * encoded.height * encoded.width;
      const values = encoded.values.slice(0, length);
      if (noise && encoded.isDistribution) spread(values, encoded.values.subarray(length), noise);
      const drawn = { ...encoded, channels, values };
      const latents = scale.isOfSquares ? toSquares(drawn) : drawn;
      return { ...latents, values: rescale(latents, scale) };
    },
  };
}

/** Planes of squares of four [channels × 4, rows / 2, columns / 2]; within a square row by row. */
function toSquares(planes: Planes): Planes {
  const values = new Float32Array(planes.values.length);
  for (const [whole, square] of squareIndices(planes)) values[square] = planes.values[whole] ?? 0;
  const { channels, height, width } = planes;
  return { values, channels: channels * 4, height: height / 2, width: width / 2 };
}

function fromSquares(squares: Planes): Planes {
  const { channels, height, width } = squares;
  const grid = { channels: channels / 4, height: height * 2, width: width * 2 };
  const values = new Float32Array(squares.values.length);
  for (const [whole, square] of squareIndices(grid)) values[whole] = squares.values[square] ?? 0;
  return { ...grid, values };
}

/** Index of each value in planes and in their planes of squares. */
function* squareIndices({
  channels,
  height,
  width,
}: Omit<Planes, "values">): Generator<readonly [number, number]> {
  let whole = 0;
  for (let channel = 0; channel < channels; channel += 1)
    for (let row = 0; row < height; row += 1)
      for (let column = 0; column < width; column += 1) {
        const plane = channel * 4 + (row & 1) * 2 + (column & 1);
        yield [whole, (plane * (height / 2) + (row >> 1)) * (width / 2) + (column >> 1)];
        whole += 1;
      }
}

function findEnds(sessions: Graphs, role: "vae-decoder" | "vae-encoder") {
  const graph = sessions.info[role];
  if (graph === undefined) throw new Error(`the model has no ${role}`);
  const isDecoder = role === "vae-decoder";
  const { latents, picture } = findPorts(graph, ROLES);
  const port = isDecoder ? (latents ?? picture) : (picture ?? latents);
  if (port === undefined) throw new Error(`the graph ${role} has no input that is known`);
  return { port, output: findOutput(graph, isDecoder ? PICTURE_OUTPUTS : LATENT_OUTPUTS) };
}

async function run(
  sessions: Graphs,
  role: "vae-decoder" | "vae-encoder",
  input: Planes,
  size?: PictureSize,
) {
  const { port, output } = findEnds(sessions, role);
  const { values, channels, height, width } = input;
  const feeds = {
    [port.name]: float32(values, [1, channels, height, width]),
    ...(size && { size: int64Of([size.height, size.width], [2]) }),
  };
  const outputs = await sessions.run(role, feeds, { fetch: [output] });
  const [, depth = 0, rows = 0, columns = 0] = outputs[output]?.dims ?? [];
  return {
    values: floatsOf(outputs, output),
    channels: depth,
    height: rows,
    width: columns,
    isDistribution: output === "latent_parameters",
  };
}

/** Moves means to a draw of their distribution in place, by the logarithms of its variances. */
function spread(means: Float32Array, logVariances: Float32Array, noise: NoiseSource): void {
  const drawn = noise(means.length);
  for (const [index, mean] of means.entries()) {
    // diffusers' own bounds, beyond which an exponential says nothing.
    const logVariance = Math.min(Math.max(logVariances[index] ?? 0, -30), 20);
    means[index] = mean + Math.exp(logVariance / 2) * (drawn[index] ?? 0);
  }
}

function unscale(latents: Planes, { scaling, shift, channels }: LatentScale): Float32Array {
  const size = latents.height * latents.width;
  return latents.values.map((value, index) => {
    const channel = Math.floor(index / size);
    const std = channels?.std[channel] ?? 1;
    return (value * std) / scaling + (channels?.mean[channel] ?? shift);
  });
}

function rescale(latents: Planes, { scaling, shift, channels }: LatentScale): Float32Array {
  const size = latents.height * latents.width;
  return latents.values.map((value, index) => {
    const channel = Math.floor(index / size);
    const std = channels?.std[channel] ?? 1;
    return ((value - (channels?.mean[channel] ?? shift)) * scaling) / std;
  });
}
