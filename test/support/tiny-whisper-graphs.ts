import {
  type CachedDecoder,
  castTo,
  type DecoderForm,
  type DecoderNodes,
  floatType,
  graphFile,
  writeCachedDecoder,
} from "./cached-decoder.js";
import { melBinOf, PITCHES_HZ } from "./melody.js";
import { Graph } from "./onnx.js";
import {
  FIRST_TIME,
  isTime,
  isToken,
  isWord,
  languageOf,
  steeringId,
  TIME_COUNT,
  VOCABULARY,
  wordId,
  WORDS,
} from "./whisper-vocabulary.js";

export const WHISPER_SIZES = { layers: 2, heads: 2, headSize: 8, width: 16, frames: 1_500 };
const { heads, headSize, width, frames } = WHISPER_SIZES;
/** Wavelengths, in notes, of the sines of the place. */
const WAVELENGTHS = [4, 16, 64];
const SHARPNESS = 20;

export interface TinyWhisper extends Partial<Pick<CachedDecoder, "half" | "besides">> {
  readonly decoder: DecoderForm;
  /** 128 since large-v3. */
  readonly melBins?: number;
  /** Outputs of the cross attentions, as `…_timestamped` exports have. */
  readonly attentions?: boolean;
  readonly isMultilingual?: boolean;
}

/** Writes encoder and decoders; `writeTinyWhisper` says what they compute. */
export function writeWhisperGraphs(folder: string, tiny: TinyWhisper): void {
  writeEncoder(folder, tiny);
  writeCachedDecoder({
    ...tiny,
    folder,
    form: tiny.decoder,
    sizes: WHISPER_SIZES,
    declare(graph, type, hasStates) {
      graph.input("input_ids", "int64", ["batch_size", "decoder_sequence_length"]);
      const dims = ["batch_size", "encoder_sequence_length", width];
      if (hasStates) graph.input("encoder_hidden_states", type, dims);
    },
    build: (nodes) => buildDecoder(nodes, tiny),
  });
}

function writeEncoder(folder: string, tiny: TinyWhisper): void {
  const { melBins = 80 } = tiny;
  const graph = new Graph();
  const type = floatType(tiny);
  const input = graph.input("input_features", type, ["batch_size", melBins, 2 * frames]);
  // Of two neighbouring frames the mean of the level in each pitch's filter.
  const filters = graph.floats([width, melBins, 2], (index) => {
    const hz = PITCHES_HZ[Math.floor(index / 2 / melBins)];
    const bin = Math.floor(index / 2) % melBins;
    return hz !== undefined && melBinOf(hz, melBins) === bin ? 0.5 : 0;
  });
  const features = graph.node("Cast", [input], castTo("float32"));
  const levels = graph.node("Conv", [features, filters], { strides: [2] });
  const rows = graph.node("Transpose", [levels], { perm: [0, 2, 1] });
  const places = graph.floats([1, frames, width], (index) =>
    placeFeature((Math.floor(index / width) + 0.5) / 25, (index % width) - PITCHES_HZ.length),
  );
  const states = graph.node("Cast", [graph.node("Add", [rows, places])], castTo(type));
  graph.output("last_hidden_state", type, ["batch_size", frames, width], states);
  const file = graphFile({ ...tiny, folder }, "encoder_model");
  graph.write(file.path, file.options);
}

/** Cosine and sine of a place, counted in notes, for each wavelength; 0 for other features. */
function placeFeature(place: number, feature: number): number {
  const wavelength = WAVELENGTHS[Math.floor(feature / 2)];
  if (wavelength === undefined) return 0;
  const angle = (2 * Math.PI * place) / wavelength;
  return feature % 2 === 0 ? Math.cos(angle) : Math.sin(angle);
}

function buildDecoder(nodes: DecoderNodes, tiny: TinyWhisper): void {
  const remember = (cache: string, numberOf: (id: number) => number) =>
    nodes.remember(cache, nodes.pick(lookUp(nodes, numberOf), 2));
  const starts = nodes.sumSoFar(remember("0.decoder.value", isToken("startoftranscript")));
  const count = (flags: string) =>
    nodes.ofThisRun(nodes.sumSoFar(nodes.times(flags, nodes.node("Min", [starts, one(nodes)]))));
  const words = count(remember("0.decoder.key", isWord));
  const times = count(remember("1.decoder.key", isTime));
  const noTimes = count(remember("1.decoder.value", isToken("notimestamps")));
  const window = attend(nodes, 0, { words, tiny });
  const note = attend(nodes, 1, { words, tiny });
  const scores = [
    textScores(nodes, window, note),
    timeScores(nodes, { note, words, times, noTimes }),
  ];
  const dims = ["batch_size", "decoder_sequence_length", VOCABULARY];
  nodes.output("logits", dims, nodes.node("Concat", scores, { axis: 2 }));
}

const one = ({ weights }: DecoderNodes) => weights.floats([1], [1]);

/** A number of each token [batch, tokens, 1]. */
function lookUp(nodes: DecoderNodes, numberOf: (id: number) => number): string {
  return nodes.node("Gather", [nodes.weights.floats([VOCABULARY, 1], numberOf), "input_ids"]);
}

/** What a layer's first head hears of the pitches [batch, tokens, 8]: layer 1 in the note of that number. */
function attend(
  nodes: DecoderNodes,
  layer: number,
  { words, tiny }: { readonly words: string; readonly tiny: TinyWhisper },
): string {
  const keys = nodes.encoderCache(`${layer}.encoder.key`, (index) => PITCHES_HZ.length + index);
  const values = nodes.encoderCache(`${layer}.encoder.value`, (index) => index);
  const turned = nodes.node("Transpose", [keys], { perm: [0, 1, 3, 2] });
  const scores = nodes.node("MatMul", [queries(nodes, layer, words), turned]);
  const attention = nodes.node("Softmax", [scores], { axis: -1 });
  const dims = ["batch_size", heads, "decoder_sequence_length", "encoder_sequence_length"];
  if (tiny.attentions) nodes.output(`cross_attentions.${layer}`, dims, attention);
  return nodes.pick(nodes.node("MatMul", [attention, values]), 1);
}

/** [batch, heads, tokens, size]: cosines and sines of the note's middle in the first head of layer 1, else 0. */
function queries(nodes: DecoderNodes, layer: number, words: string): string {
  const { weights } = nodes;
  const perHead = (valueOf: (index: number, wavelength: number) => number) => (index: number) => {
    const wavelength = WAVELENGTHS[Math.floor(index / 2)];
    return wavelength === undefined ? 0 : valueOf(index, wavelength);
  };
  const rates = weights.floats(
    [headSize],
    perHead((_, length) => (2 * Math.PI) / length),
  );
  // A cosine is a sine a quarter turn on.
  const turns = weights.floats(
    [headSize],
    perHead((at) => (at % 2 === 0 ? Math.PI / 2 : 0)),
  );
  const gains = weights.floats(
    [1, heads, 1, headSize],
    perHead(() => (layer === 1 ? SHARPNESS : 0)),
  );
  const angles = nodes.times(nodes.sum(words, 0.5), rates);
  return nodes.times(nodes.unsqueeze(nodes.node("Sin", [nodes.sum(angles, turns)]), 1), gains);
}

/** Scores of all tokens but times [batch, tokens, FIRST_TIME]. */
function textScores(nodes: DecoderNodes, window: string, note: string): string {
  const { weights } = nodes;
  const byPitch = (idOf: (pitch: number) => number | undefined) =>
    weights.floats([PITCHES_HZ.length, FIRST_TIME], (index) =>
      idOf(Math.floor(index / FIRST_TIME)) === index % FIRST_TIME ? 20 : 0,
    );
  // The start of the transcript tells whether there is speech.
  const silence = weights.floats([FIRST_TIME], (id) => (id === steeringId("nospeech") ? 45 : 0));
  return nodes.sum(
    nodes.node("MatMul", [note, byPitch(wordId)]),
    nodes.node("MatMul", [window, byPitch(languageOf)]),
    nodes.times(lookUp(nodes, isToken("startoftranscript")), silence),
    weights.floats([FIRST_TIME], baseScoreOf),
  );
}

/** Scores that no pitch changes: of the end of the text, of words, and of what is never said. */
function baseScoreOf(id: number): number {
  if (id === steeringId("endoftext")) return 8;
  if (id === steeringId("fr")) return -100;
  return isWord(id) ? 0 : -30;
}

/** Scores of the times [batch, tokens, TIME_COUNT]. */
function timeScores(
  nodes: DecoderNodes,
  { note, words, times, noTimes }: Readonly<Record<"note" | "words" | "times" | "noTimes", string>>,
): string {
  const steps = nodes.weights.floats([TIME_COUNT], (index) => index);
  const gap = nodes.node("Sub", [steps, nodes.times(words, 25)]);
  const isOpen = nodes.node("Mod", [times, nodes.weights.floats([1], [2])], { fmod: 1 });
  // Behind a time that opened a piece comes no other; behind one that closed a piece, where there is a note.
  const level = nodes.node("ReduceMax", [note], { axes: [2], keepdims: 1 });
  const closed = nodes.times(
    nodes.sum(nodes.times(level, 20), 10),
    nodes.node("Sub", [one(nodes), isOpen]),
  );
  const behindTime = nodes.sum(closed, nodes.times(isOpen, -40));
  return nodes.sum(
    nodes.times(nodes.node("Abs", [gap]), -4),
    lookUp(nodes, baseTimeScoreOf),
    nodes.times(lookUp(nodes, isTime), behindTime),
    nodes.times(noTimes, -100),
  );
}

/** How gladly a time follows a token: most at the start and behind a full stop. */
function baseTimeScoreOf(id: number): number {
  if (isTime(id)) return 0;
  return id === steeringId("transcribe") || id === wordId(WORDS.length - 1) ? 42 : 12;
}
