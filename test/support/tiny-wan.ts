import { asFloats, cast, readingOf } from "./graph-readings.js";
import type { ModelFiles } from "./model-folders.js";
import { type Dims, type ElementType, Graph } from "./onnx.js";
import { t5Tokenizer } from "./prompt-tokenizers.js";

/**
 * A transformer that says a share of the sample and, everywhere, the same more: the reading of the prompt,
 * its share of the timestep, and a number of its own.
 */
export interface TinyTransformer {
  readonly sampleShare?: number;
  readonly timestepShare?: number;
  readonly own?: number;
  /** Dimensions of the timestep: a number a sample, where absent. */
  readonly timestep?: Dims;
  /** Of all inputs and the output. */
  readonly type?: ElementType;
  /** Batch that the graph is fixed to, or a name of a free one. */
  readonly batch?: Dims[number];
}

export interface TinyWan {
  /** scheduler_config.json; UniPC's of Wan 2.1 where absent. */
  readonly scheduler?: object;
  /** One, or the two of Wan 2.2. */
  readonly transformers?: readonly TinyTransformer[];
  /** Latent frames that the decoder was unrolled for; any number where absent. */
  readonly latentFrames?: number;
}

/** Shares of a token's id and of the number of seen tokens in a prompt's states. */
export const TOKEN_SHARE = 1 / 100;
export const SEEN_SHARE = 1 / 1_000;
const TEXT_FEATURES = 4;

/** What a transformer says of a sample, of 1 000 timesteps, where it does not say otherwise. */
export const SAMPLE_SHARE = 1 / 2;
export const TIMESTEP_SHARE = 1 / 1_000;

/** Of the latents, as diffusion models know them, on the way to the decoder. */
export const MEAN: readonly number[] = [0.5, -0.5, 0.25, 1];
export const DEVIATION: readonly number[] = [2, 1, 0.5, 4];
export const CHANNELS = MEAN.length;

const UNIPC = {
  _class_name: "UniPCMultistepScheduler",
  flow_shift: 3,
  prediction_type: "flow_prediction",
  use_flow_sigmas: true,
};

/** Wan 2.1 or, of two transformers, 2.2 in diffusers' folders, whose graphs have formulas. */
export function tinyWan({
  scheduler = UNIPC,
  transformers = [{}],
  latentFrames,
}: TinyWan): ModelFiles {
  const boundary_ratio = transformers.length > 1 ? 0.875 : null;
  const parts = transformers.map((transformer, index): ModelFiles => {
    const folder = index === 0 ? "transformer" : `transformer_${index + 1}`;
    return {
      [`${folder}/model.onnx`]: transformerGraph(transformer),
      [`${folder}/config.json`]: { in_channels: CHANNELS, image_dim: null, patch_size: [1, 2, 2] },
    };
  });
  return {
    "model_index.json": { _class_name: "WanPipeline", boundary_ratio, expand_timesteps: false },
    "scheduler/scheduler_config.json": scheduler,
    "text_encoder/model.onnx": promptGraph(),
    "text_encoder/config.json": {},
    ...t5Tokenizer("tokenizer"),
    ...Object.assign({}, ...parts),
    "vae_decoder/model.onnx": decoderGraph(latentFrames),
    "vae_decoder/config.json": {
      z_dim: CHANNELS,
      latents_mean: MEAN,
      latents_std: DEVIATION,
      scale_factor_spatial: 8,
      scale_factor_temporal: 4,
    },
  };
}

/** UMT5: states of padding are not zeros, and the mask has a part in all. */
function promptGraph(): Graph {
  const graph = new Graph();
  const dims = ["batch_size", "sequence_length"];
  const ids = asFloats(graph, "input_ids", "int64", dims);
  const mask = asFloats(graph, "attention_mask", "int64", dims);
  const after = graph.node("Add", [ids, graph.floats([], [1])]);
  const seen = graph.node("ReduceSum", [mask, graph.integers([1])]);
  const count = graph.node("Mul", [seen, graph.floats([], [SEEN_SHARE])]);
  const tokens = graph.node("Mul", [after, graph.floats([], [TOKEN_SHARE])]);
  const column = graph.node("Unsqueeze", [graph.node("Add", [tokens, count]), graph.integers([2])]);
  const states = graph.node("Mul", [column, graph.floats([TEXT_FEATURES], () => 1)]);
  graph.output("last_hidden_state", "float32", [...dims, TEXT_FEATURES], states);
  return graph;
}

function transformerGraph(transformer: TinyTransformer): Graph {
  const graph = new Graph();
  const { type = "float32", batch = "batch_size", timestep = [batch], own = 0 } = transformer;
  const { sampleShare = SAMPLE_SHARE, timestepShare = TIMESTEP_SHARE } = transformer;
  const dims = [batch, CHANNELS, "num_frames", "height", "width"];
  const times = (value: string, share: number) =>
    graph.node("Mul", [value, graph.floats([], [share])]);
  const sample = times(asFloats(graph, "hidden_states", type, dims), sampleShare);
  const time = times(asFloats(graph, "timestep", type, timestep), timestepShare);
  const states = [batch, "sequence_length", TEXT_FEATURES];
  const prompt = readingOf(graph, asFloats(graph, "encoder_hidden_states", type, states), [1, 2]);
  const reading = graph.node("Add", [graph.node("Add", [prompt, time]), graph.floats([], [own])]);
  const offset = graph.node("Reshape", [reading, graph.integers([-1, 1, 1, 1, 1])]);
  graph.output("sample", type, dims, cast(graph, graph.node("Add", [sample, offset]), type));
  return graph;
}

/**
 * The first three channels, eight times as large: of the first latent frame one frame, of each other one
 * four, which are the mean of it and of the one before it.
 */
function decoderGraph(latentFrames?: number): Graph {
  const graph = new Graph();
  const dims = ["batch_size", CHANNELS, "latent_num_frames", "latent_height", "latent_width"];
  const cut = (value: string, [from, to]: readonly [number, number], axis = 2) =>
    graph.node("Slice", [value, ...[from, to, axis].map((number) => graph.integers([number]))]);
  const latents = graph.input("latent_sample", "float32", dims);
  const colours = cut(latents, [0, 3], 1);
  const end = latentFrames ?? Number.MAX_SAFE_INTEGER;
  const read = cut(colours, [0, end]);
  const first = cut(read, [0, 1]);
  const sums = graph.node("Add", [cut(read, [1, end]), cut(read, [0, -1])]);
  const means = graph.node("Mul", [sums, graph.floats([], [0.5])]);
  const grown = (value: string, frames: number) =>
    graph.node("Resize", [value, "", graph.floats([5], [1, 1, frames, 8, 8])], { mode: "nearest" });
  const frames = graph.node("Concat", [grown(first, 1), grown(means, 4)], { axis: 2 });
  graph.output("sample", "float32", ["batch_size", 3, "num_frames", "height", "width"], frames);
  return graph;
}
