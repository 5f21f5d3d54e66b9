import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Graph } from "./onnx.js";

/** Who publishes Kokoro: the hub's conversion, its author's export, and the package kokoro-onnx. */
export type KokoroForm = "onnx-community" | "hexgrad" | "kokoro-onnx";

/** Ids of some of Kokoro's characters. */
export const KOKORO_VOCABULARY: Readonly<Record<string, number>> = {
  ".": 4,
  " ": 16,
  h: 50,
  l: 54,
  o: 57,
  ə: 83,
  ʊ: 135,
  ˈ: 156,
};
/** The style of voice n has n at place 0, and its row at place 1. */
export const KOKORO_VOICES = ["af_heart", "am_michael", "bf_emma"];

/** Samples of a frame of duration, at 24 kHz; an id lasts four frames at speed 1. */
const FRAME_SAMPLES = 600;
const FRAMES_PER_ID = 4;

/**
 * A folder of Kokoro whose sound tells what it was fed: each id is a level of
 * (id + 200 × voice + row / 2) / 1024 for 2,400 / speed samples.
 */
export function writeTinyKokoro(folder: string, form: KokoroForm): void {
  writeGraph(join(folder, "onnx", "model.onnx"), form);
  for (const [name, content] of Object.entries(settingsOf(form)))
    writeFileSync(join(folder, name), JSON.stringify(content));
  mkdirSync(join(folder, "voices"));
  for (const [voice, name] of KOKORO_VOICES.entries())
    writeFileSync(join(folder, "voices", `${name}.bin`), styleTable(voice));
}

function settingsOf(form: KokoroForm): Record<string, object> {
  const vocab = KOKORO_VOCABULARY;
  const ofAuthor = { "config.json": { vocab, istftnet: {}, plbert: { hidden_size: 32 } } };
  if (form !== "onnx-community") return ofAuthor;
  return {
    "config.json": { model_type: "style_text_to_speech_2" },
    "tokenizer.json": { version: "1.0", model: { vocab: { $: 0, ...vocab } } },
  };
}

/** [510, 1, 256]. */
function styleTable(voice: number): Uint8Array {
  const table = Float32Array.from({ length: 510 * 256 }, (_, index) => {
    if (index % 256 === 0) return voice;
    return index % 256 === 1 ? Math.floor(index / 256) : 0;
  });
  return new Uint8Array(table.buffer);
}

function writeGraph(path: string, form: KokoroForm): void {
  const graph = new Graph();
  const ids = graph.input(form === "kokoro-onnx" ? "tokens" : "input_ids", "int64", [1, "ids"]);
  graph.input("style", "float32", [1, 256]);
  graph.input("speed", form === "hexgrad" ? "int32" : "float32", [1]);
  const levels = levelsOf(graph, ids);
  const frames = framesOf(graph);
  const samples = graph.node("Mul", [frames, graph.floats([1], [FRAME_SAMPLES])]);
  const scales = graph.node("Concat", [graph.floats([1], [1]), samples], { axis: 0 });
  const nearest = { mode: "nearest", coordinate_transformation_mode: "asymmetric" };
  const steps = graph.node("Resize", [levels, "", scales], { ...nearest, nearest_mode: "floor" });
  if (form === "onnx-community") graph.output("waveform", "float32", [1, "samples"], steps);
  else {
    const name = form === "hexgrad" ? "waveform" : "audio";
    const row = graph.node("Squeeze", [steps, graph.integers([0])]);
    graph.output(name, "float32", ["samples"], row);
  }
  if (form === "hexgrad") {
    const durations = graph.node("Expand", [frames, graph.node("Shape", [ids], { start: 1 })]);
    graph.output("duration", "int64", ["ids"], graph.node("Cast", [durations], { to: 7 }));
  }
  graph.write(path);
}

/** [1, ids]. */
function levelsOf(graph: Graph, ids: string): string {
  const weights = graph.floats([256, 1], (index) => [200, 0.5][index] ?? 0);
  const shift = graph.node("MatMul", ["style", weights]);
  const shifted = graph.node("Add", [graph.node("Cast", [ids], { to: 1 }), shift]);
  return graph.node("Div", [shifted, graph.floats([1], [1_024])]);
}

/** Whole frames of one id, at least one [1]. */
function framesOf(graph: Graph): string {
  const speed = graph.node("Cast", ["speed"], { to: 1 });
  const frames = graph.node("Div", [graph.floats([1], [FRAMES_PER_ID]), speed]);
  return graph.node("Max", [graph.node("Round", [frames]), graph.floats([1], [1])]);
}
