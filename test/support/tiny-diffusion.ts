import { asFloats, cast, readingOf } from "./graph-readings.js";
import type { ModelFiles } from "./model-folders.js";
import { type Dims, type ElementType, Graph } from "./onnx.js";
import { STABLE_DIFFUSION_NOISE } from "./noise-levels.js";
import { CLIP_VOCABULARY_SIZE, clipTokenizer, t5Tokenizer } from "./prompt-tokenizers.js";

/** A text encoder whose states are its ids times a number. */
interface TinyEncoder {
  /** CLIP's tokenizer; the same padded with "!", whose id is 0, as SDXL's second; or T5's. */
  readonly reads: "clip" | "clip-padded-with-zeros" | "t5";
  readonly features: number;
  /** Output → what an id is multiplied with, over `ID_SHARE`; pooled ones are means over the tokens. */
  readonly outputs: Readonly<Record<string, number>>;
  readonly ids?: "int32" | "int64";
  /** Whether weights lie beside the graph. */
  readonly isExternal?: boolean;
}

/** What the ids of all encoders are divided by. */
export const ID_SHARE = 100_000;

/** An input of one row a sample, and what its reading is multiplied with. */
interface TinyVector {
  /** One value a sample, without a second dimension, where absent. */
  readonly features?: number;
  readonly weight: number;
}

/**
 * A denoiser that says the sample and, everywhere, the same more: the readings of the text states and of
 * the vectors, and its share of the timestep.
 */
export interface TinyDenoiser {
  readonly folder: "unet" | "transformer";
  readonly config: object;
  readonly sample: string;
  readonly output: string;
  /** Of the sample: of a grid, or of a token that is four of its latents. */
  readonly channels: number;
  readonly contextFeatures: number;
  readonly timestep: { readonly dims: Dims; readonly weight: number };
  readonly vectors?: Readonly<Record<string, TinyVector>>;
  /** Where the sample is tokens: the input with their places. */
  readonly places?: TinyPlaces;
  /** Of all inputs but places. */
  readonly type?: ElementType;
  /** Batch that the graph is fixed to; free where absent. */
  readonly batch?: Dims[number];
}

/** Places [tokens, 3]: int64 by optimum, float32 by NVIDIA, and batched in FLUX.2. */
interface TinyPlaces {
  readonly type: ElementType;
  readonly isBatched?: boolean;
}

/** What Flux adds to a token's values for each row and for each column of its place. */
export const ROW_SHARE = 1 / 4;
export const COLUMN_SHARE = 1 / 8;

export interface TinyDiffusion {
  /** model_index.json. */
  readonly index: object;
  /** scheduler_config.json. */
  readonly scheduler: object;
  readonly encoders: readonly TinyEncoder[];
  readonly denoiser: TinyDenoiser;
  /** vae_decoder/config.json and vae_encoder/config.json. */
  readonly autoencoder: object;
  readonly latentChannels: number;
}

/** A folder in optimum's layout whose graphs have formulas. */
export function tinyDiffusion(tiny: TinyDiffusion): ModelFiles {
  const { denoiser, encoders } = tiny;
  return {
    "model_index.json": tiny.index,
    "scheduler/scheduler_config.json": tiny.scheduler,
    [`${denoiser.folder}/model.onnx`]: denoiserGraph(denoiser),
    [`${denoiser.folder}/config.json`]: denoiser.config,
    "vae_decoder/model.onnx": decoderOfPictures(tiny.latentChannels),
    "vae_decoder/config.json": tiny.autoencoder,
    "vae_encoder/model.onnx": encoderOfPictures(tiny.latentChannels, "latent_parameters"),
    "vae_encoder/config.json": tiny.autoencoder,
    ...Object.assign({}, ...encoders.map(encoderFiles)),
  };
}

function encoderFiles(encoder: TinyEncoder, index: number): ModelFiles {
  const number = index === 0 ? "" : `_${index + 1}`;
  const graph = encoderGraph(encoder);
  const dataFile = encoder.isExternal ? { dataFile: "model.onnx_data" } : {};
  return {
    [`text_encoder${number}/model.onnx`]: { write: (path: string) => graph.write(path, dataFile) },
    [`text_encoder${number}/config.json`]: {},
    ...tokenizerOf(encoder, `tokenizer${number}`),
  };
}

function tokenizerOf({ reads }: TinyEncoder, folder: string): ModelFiles {
  if (reads === "t5") return t5Tokenizer(folder);
  return clipTokenizer(folder, reads === "clip" ? undefined : "!");
}

/** States [batch, tokens, features]: the id's share times the output's number, in every feature. */
function encoderGraph({ features, outputs, ids = "int64" }: TinyEncoder): Graph {
  const graph = new Graph();
  const input = graph.input("input_ids", ids, ["batch_size", "sequence_length"]);
  const table = graph.floats([CLIP_VOCABULARY_SIZE, 1], (id) => id / ID_SHARE);
  const column = graph.node("Gather", [table, input]);
  for (const [name, weight] of Object.entries(outputs)) {
    const row = graph.floats([features], () => weight);
    const states = graph.node("Mul", [column, row]);
    const dims = ["batch_size", "sequence_length", features];
    const mean = () => graph.node("ReduceMean", [states], { axes: [1], keepdims: 0 });
    if (isPooled(name)) graph.output(name, "float32", ["batch_size", features], mean());
    else graph.output(name, "float32", dims, states);
  }
  return graph;
}

function isPooled(output: string): boolean {
  return output === "pooler_output" || output === "text_embeds";
}

function denoiserGraph(denoiser: TinyDenoiser): Graph {
  const graph = new Graph();
  const { type = "float32", output, places } = denoiser;
  const dims = sampleDims(denoiser);
  const sample = asFloats(graph, denoiser.sample, type, dims);
  const offset = readConditions(graph, denoiser);
  const column = graph.integers([-1, ...dims.slice(1).map(() => 1)]);
  const said = graph.node("Add", [sample, graph.node("Reshape", [offset, column])]);
  const placed = places ? graph.node("Add", [said, readPlaces(graph, places)]) : said;
  graph.output(output, type, dims, cast(graph, placed, type));
  return graph;
}

function sampleDims({ batch = "batch_size", channels, places }: TinyDenoiser): Dims {
  return places ? [batch, "packed_height_width", channels] : [batch, channels, "height", "width"];
}

/** What the denoiser says of everywhere [batch]. */
function readConditions(graph: Graph, denoiser: TinyDenoiser): string {
  const { type = "float32", batch = "batch_size", timestep, vectors = {} } = denoiser;
  const scaled = (value: string, weight: number) =>
    graph.node("Mul", [value, graph.floats([], [weight])]);
  const readings = Object.entries(vectors).map(([name, { features, weight }]) => {
    const dims = features === undefined ? [batch] : [batch, features];
    const vector = asFloats(graph, name, type, dims);
    return scaled(features === undefined ? vector : readingOf(graph, vector, [1]), weight);
  });
  const time = scaled(asFloats(graph, "timestep", type, timestep.dims), timestep.weight);
  const context = readingOf(graph, readContext(graph, denoiser), [1, 2]);
  return [...readings, time].reduce((sum, next) => graph.node("Add", [sum, next]), context);
}

/** Text states [batch, tokens, features]; places of the text are added, which are zeros. */
function readContext(graph: Graph, denoiser: TinyDenoiser): string {
  const { type = "float32", batch = "batch_size", contextFeatures, places } = denoiser;
  const dims = [batch, "sequence_length", contextFeatures];
  const states = asFloats(graph, "encoder_hidden_states", type, dims);
  if (places === undefined) return states;
  const ids = asFloats(graph, "txt_ids", places.type, placeDims(places, "sequence_length"));
  return graph.node("Add", [states, graph.node("ReduceSum", [ids, graph.integers([-1])])]);
}

/** What is added for the place of each token [tokens, 1]. */
function readPlaces(graph: Graph, places: TinyPlaces): string {
  const ids = asFloats(graph, "img_ids", places.type, placeDims(places, "packed_height_width"));
  const shares = graph.floats([3], [0, ROW_SHARE, COLUMN_SHARE]);
  return graph.node("ReduceSum", [graph.node("Mul", [ids, shares]), graph.integers([-1])]);
}

function placeDims({ isBatched }: TinyPlaces, tokens: string): Dims {
  return isBatched ? ["batch_size", tokens, 3] : [tokens, 3];
}

/** Share of a latent in the pixels that are made of it. */
export const PIXEL_SHARE = 1 / 16;
/** Pixels of a side for one latent. */
export const PIXELS = 8;

/** The first three channels of the latents as red, green and blue, eight times as large. */
export function decoderOfPictures(channels: number): Graph {
  const graph = new Graph();
  const dims = ["batch_size", channels, "latent_height", "latent_width"];
  const latents = graph.input("latent_sample", "float32", dims);
  const [start, end, axis] = [graph.integers([0]), graph.integers([3]), graph.integers([1])];
  const colours = graph.node("Slice", [latents, start, end, axis]);
  const dimmed = graph.node("Mul", [colours, graph.floats([], [PIXEL_SHARE])]);
  const large = graph.node("Resize", [dimmed, "", graph.floats([4], [1, 1, PIXELS, PIXELS])], {
    mode: "nearest",
  });
  graph.output("sample", "float32", ["batch_size", 3, "height", "width"], large);
  return graph;
}

/**
 * An encoder of pictures whose latent `c` is the mean of colour `c % 3` in its square, times `c + 1`:
 * alone, as tiny autoencoders give it, or before the logarithms of its variances, as others do.
 */
export function encoderOfPictures(
  channels: number,
  output: "latent_sample" | "latent_parameters",
): Graph {
  const graph = new Graph();
  const dims = ["batch_size", 3, "sample_height", "sample_width"];
  const picture = graph.input("sample", "float32", dims);
  const square = { kernel_shape: [PIXELS, PIXELS], strides: [PIXELS, PIXELS] };
  const means = graph.node("AveragePool", [picture], square);
  const weights = graph.floats([channels, 3, 1, 1], (index) => {
    const channel = Math.floor(index / 3);
    return index % 3 === channel % 3 ? channel + 1 : 0;
  });
  const latents = graph.node("Conv", [means, weights]);
  const both = graph.node("Concat", [latents, graph.node("Neg", [latents])], { axis: 1 });
  const isAlone = output === "latent_sample";
  const count = isAlone ? channels : 2 * channels;
  graph.output(
    output,
    "float32",
    ["batch_size", count, "height", "width"],
    isAlone ? latents : both,
  );
  return graph;
}

/** Stable Diffusion 1.5 as it is published, for pictures of 128 × 128. */
export const STABLE_DIFFUSION: TinyDiffusion = {
  index: { _class_name: "StableDiffusionPipeline" },
  scheduler: {
    _class_name: "PNDMScheduler",
    ...STABLE_DIFFUSION_NOISE,
    prediction_type: "epsilon",
    set_alpha_to_one: false,
    skip_prk_steps: true,
    steps_offset: 1,
    timestep_spacing: "leading",
  },
  encoders: [
    { reads: "clip", features: 4, outputs: { last_hidden_state: 0.2, pooler_output: 100 } },
  ],
  denoiser: {
    folder: "unet",
    config: { in_channels: 4, sample_size: 16, block_out_channels: [16, 32] },
    sample: "sample",
    output: "out_sample",
    channels: 4,
    contextFeatures: 4,
    timestep: { dims: [], weight: 1 / 10_000 },
  },
  autoencoder: { scaling_factor: 0.18215, block_out_channels: [8, 8, 8, 16] },
  latentChannels: 4,
};
