import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import {
  type CachedDecoder,
  type DecoderForm,
  type DecoderNodes,
  writeCachedDecoder,
} from "./cached-decoder.js";
import { Graph } from "./onnx.js";

/** Codes of a codebook; this number itself stands before and behind them. */
export const CODE_COUNT = 64;
/** Words that the tokenizer knows, from this id on; `</s>` is 1. */
const MUSIC_WORDS = ["▁slow", "▁piano", "▁and", "▁drums", "▁loud"];
export const FIRST_WORD_ID = 4;
export const END_ID = 1;

const SIZES = { layers: 2, heads: 2, headSize: 8 };
const WIDTH = 16;

export interface TinyMusicgen extends Partial<Pick<CachedDecoder, "half" | "besides">> {
  readonly decoder: DecoderForm;
  /** Rows of codes; those of a stereo model alternate between left and right. */
  readonly codebooks?: number;
  readonly channels?: 1 | 2;
  readonly positions?: number;
  /** Fields of generation_config.json. */
  readonly generation?: object;
}

/**
 * A MusicGen in optimum's layout. Feature k of the text's states is id × (k + 1) / 100, and the text is
 * T = the mean of feature 0 with weights exp(3 × feature 0), and that of feature 8, unweighted, of the tokens that
 * the mask shows, and a quarter of their share. A code v of row c scores -(v - t)² / 50 where
 * t = 0.47 × mean of the column's codes + 0.21 × mean of those means so far
 *   + 0.05 × mean so far of (first row - last row) + 1.3 c + T; the padding counts as 0.
 * A frame sounds as a level of (4 a + 3 b + 2 c + d) / 640 - 0.5 of its four codes, for 640 samples at 32 kHz.
 */
export function writeTinyMusicgen(folder: string, tiny: TinyMusicgen): void {
  const onnx = join(folder, "onnx");
  mkdirSync(onnx, { recursive: true });
  writeTextEncoder(join(onnx, "text_encoder.onnx"));
  writeCodec(join(onnx, "encodec_decode.onnx"));
  const { codebooks = 4 } = tiny;
  writeCachedDecoder({
    ...tiny,
    folder,
    form: tiny.decoder,
    sizes: SIZES,
    declare(graph, type, hasStates) {
      graph.input("encoder_attention_mask", "int64", ["batch_size", "encoder_sequence_length"]);
      const ids = ["total_batch_size_x_num_codebooks", "decoder_sequence_length"];
      graph.input("input_ids", "int64", ids);
      const states = ["total_batch_size", "encoder_sequence_length", WIDTH];
      if (hasStates) graph.input("encoder_hidden_states", type, states);
    },
    build: (nodes) => buildDecoder(nodes, codebooks),
  });
  const files = {
    "config.json": configOf(tiny),
    "generation_config.json": { guidance_scale: 3, do_sample: true, ...tiny.generation },
    "tokenizer.json": tokenizerJson(),
    "tokenizer_config.json": { tokenizer_class: "T5Tokenizer", model_max_length: 512 },
  };
  for (const [name, content] of Object.entries(files))
    writeFileSync(join(folder, name), JSON.stringify(content));
}

function writeTextEncoder(path: string): void {
  const graph = new Graph();
  const dims = ["batch_size", "encoder_sequence_length"];
  const ids = graph.input("input_ids", "int64", dims);
  const mask = graph.input("attention_mask", "int64", dims);
  const shown = graph.node("Cast", [graph.node("Mul", [ids, mask])], { to: 1 });
  const column = graph.node("Unsqueeze", [shown, graph.integers([2])]);
  const weights = graph.floats([WIDTH], (feature) => (feature + 1) / 100);
  const states = graph.node("Mul", [column, weights]);
  graph.output("last_hidden_state", "float32", [...dims, WIDTH], states);
  graph.write(path);
}

function writeCodec(path: string): void {
  const graph = new Graph();
  const codes = graph.input("audio_codes", "int64", [1, "batch_size", 4, "chunk_length"]);
  const batch = graph.node("Squeeze", [codes, graph.integers([0])]);
  const rows = graph.node("Cast", [batch], { to: 1 });
  const weights = graph.floats([1, 4, 1], (row) => (4 - row) / 10 / CODE_COUNT);
  const sum = graph.node("ReduceSum", [graph.node("Mul", [rows, weights]), graph.integers([1])]);
  const levels = graph.node("Sub", [sum, graph.floats([1], [0.5])]);
  const scales = graph.floats([3], [1, 1, 640]);
  const samples = graph.node("Resize", [levels, "", scales], {
    mode: "nearest",
    coordinate_transformation_mode: "asymmetric",
    nearest_mode: "floor",
  });
  graph.output("audio_values", "float32", ["batch_size", 1, "audio_length"], samples);
  graph.write(path);
}

function buildDecoder(nodes: DecoderNodes, codebooks: number): void {
  const { weights } = nodes;
  const table = weights.floats([CODE_COUNT + 1], (code) => code % CODE_COUNT);
  const codes = nodes.node("Gather", [table, "input_ids"]);
  const length = nodes.node("Shape", ["input_ids"], { start: 1, end: 2 });
  const shape = nodes.node("Concat", [weights.integers([-1, codebooks]), length], { axis: 0 });
  const rows = nodes.node("Reshape", [codes, shape]);
  const column = nodes.node("ReduceMean", [rows], { axes: [1], keepdims: 0 });
  const target = nodes.sum(
    nodes.times(nodes.unsqueeze(column, 1), 0.47),
    history(nodes, { rows, column, codebooks }),
    weights.floats([1, codebooks, 1], (row) => 1.3 * row),
    nodes.sum(text(nodes, 0), text(nodes, 1), shownShare(nodes)),
  );
  const gap = nodes.node("Sub", [
    weights.floats([CODE_COUNT], (code) => code),
    nodes.unsqueeze(target, 3),
  ]);
  const scores = nodes.times(nodes.times(gap, gap), -1 / 50);
  const dims = nodes.node(
    "Concat",
    [nodes.node("Shape", ["input_ids"]), weights.integers([CODE_COUNT])],
    {
      axis: 0,
    },
  );
  nodes.output(
    "logits",
    ["batch_size", "decoder_sequence_length", CODE_COUNT],
    nodes.node("Reshape", [scores, dims]),
  );
}

/** What is left of the columns so far [batch, 1, columns]: each of the four caches holds a sum. */
function history(
  nodes: DecoderNodes,
  of: { readonly rows: string; readonly column: string; readonly codebooks: number },
): string {
  const meanSoFar = (cache: string, numbers: string, count: string) => {
    const sums = nodes.sumSoFar(nodes.remember(cache, numbers));
    const mean = nodes.node("Div", [sums, count]);
    return nodes.node("Transpose", [nodes.ofThisRun(mean)], { perm: [0, 2, 1] });
  };
  const ones = nodes.sum(nodes.times(of.column, 0), 1);
  const count = nodes.sumSoFar(nodes.remember("0.decoder.value", ones));
  const [first, last] = [nodes.pick(of.rows, 1), nodes.pick(of.rows, 1, of.codebooks - 1)];
  return nodes.sum(
    nodes.times(meanSoFar("0.decoder.key", of.column, count), 0.21),
    nodes.times(meanSoFar("1.decoder.key", first, count), 0.05),
    nodes.times(meanSoFar("1.decoder.value", last, count), -0.05),
  );
}

/** The mean of feature 8 × layer of the tokens that the mask shows [batch, 1, 1]; layer 0 weighs them. */
function text(nodes: DecoderNodes, layer: number): string {
  const { weights } = nodes;
  const keys = nodes.encoderCache(`${layer}.encoder.key`, (index) => index);
  const values = nodes.encoderCache(`${layer}.encoder.value`, (index) => 8 * layer + index);
  const query = weights.floats([1, SIZES.heads, 1, SIZES.headSize], (index) =>
    index === 0 && layer === 0 ? 3 : 0,
  );
  const turned = nodes.node("Transpose", [keys], { perm: [0, 1, 3, 2] });
  const mask = nodes.node("Cast", ["encoder_attention_mask"], { to: 1 });
  const hidden = nodes.unsqueeze(nodes.times(nodes.sum(mask, -1), 1e9), 1, 2);
  const scores = nodes.sum(nodes.node("MatMul", [query, turned]), hidden);
  const attention = nodes.node("Softmax", [scores], { axis: -1 });
  const seen = nodes.pick(nodes.node("MatMul", [attention, values]), 1);
  return nodes.unsqueeze(nodes.pick(seen, 2), 2);
}

/** A quarter of the share of tokens that the mask shows [batch, 1, 1]. */
function shownShare(nodes: DecoderNodes): string {
  const mask = nodes.node("Cast", ["encoder_attention_mask"], { to: 1 });
  const share = nodes.node("ReduceMean", [mask], { axes: [1], keepdims: 1 });
  return nodes.unsqueeze(nodes.times(share, 0.25), 2);
}

function configOf({ codebooks = 4, channels = 1, positions = 256 }: TinyMusicgen): object {
  return {
    architectures: ["MusicgenForConditionalGeneration"],
    model_type: "musicgen",
    is_encoder_decoder: true,
    text_encoder: { model_type: "t5", d_model: WIDTH },
    audio_encoder: {
      model_type: "encodec",
      sampling_rate: 32_000,
      upsampling_ratios: [8, 5, 4, 4],
      audio_channels: 1,
    },
    decoder: {
      model_type: "musicgen_decoder",
      audio_channels: channels,
      num_codebooks: codebooks,
      vocab_size: CODE_COUNT,
      pad_token_id: CODE_COUNT,
      hidden_size: WIDTH,
      num_attention_heads: SIZES.heads,
      num_hidden_layers: SIZES.layers,
      max_position_embeddings: positions,
    },
  };
}

/** As T5's: pieces of words with their likelihoods, and `</s>` behind a text. */
function tokenizerJson(): object {
  const special = ["<pad>", "</s>", "<unk>"];
  const metaspace = { type: "Metaspace", replacement: "▁", add_prefix_space: true };
  const added = special.map((content, id) => ({ id, content, special: true, normalized: false }));
  const vocab = [
    ...special.map((name) => [name, 0]),
    ["▁", -2],
    ...MUSIC_WORDS.map((word, index) => [word, -3 - index / 10]),
  ];
  return {
    version: "1.0",
    added_tokens: added,
    normalizer: null,
    pre_tokenizer: { type: "Sequence", pretokenizers: [{ type: "WhitespaceSplit" }, metaspace] },
    post_processor: {
      type: "TemplateProcessing",
      single: [{ Sequence: { id: "A", type_id: 0 } }, { SpecialToken: { id: "</s>", type_id: 0 } }],
      pair: [{ Sequence: { id: "A", type_id: 0 } }, { SpecialToken: { id: "</s>", type_id: 0 } }],
      special_tokens: { "</s>": { id: "</s>", ids: [END_ID], tokens: ["</s>"] } },
    },
    decoder: metaspace,
    model: { type: "Unigram", unk_id: 2, vocab },
  };
}
