import { Graph } from "./onnx.js";

/** How loud a window is: 8 times its mean square, which is 1 for a tone of half the full scale. */
const GAIN = 8;

/**
 * Silero's voice detector as it is published since version 5, behind a branch for each sample rate: samples
 * [batch, 576] at 16 kHz. The new state is the mean of the old one and the loudness; so is the probability.
 */
export function writeVoiceDetector(path: string): void {
  const graph = new Graph();
  graph.input("input", "float32", ["", ""]);
  graph.input("state", "float32", [2, "", 128]);
  graph.input("sr", "int64", []);
  const isFast = graph.node("Equal", ["sr", graph.integers(16_000)]);
  const outputs = ["output", "stateN"];
  const [fast, slow] = [new Graph("fast"), new Graph("slow")];
  for (const branch of [fast, slow]) {
    const isOwn = branch === fast;
    const state = isOwn ? blend(branch, "state", loudness(branch)) : "state";
    branch.output(`${branch.prefix}.output`, "float32", ["", 1], probability(branch, state));
    branch.output(`${branch.prefix}.stateN`, "float32", [2, "", 128], state);
  }
  graph.node("If", [isFast], { then_branch: fast, else_branch: slow }, { outputs });
  graph.output("output", "float32", ["", 1]);
  graph.output("stateN", "float32", ["", "", ""]);
  graph.write(path, { opset: 16 });
}

/** The form before version 5: 512 samples; `h` as the state above, `c` follows it as slowly, and is the answer. */
export function writeOldVoiceDetector(path: string): void {
  const graph = new Graph();
  graph.input("input", "float32", ["batch", "sequence"]);
  graph.input("sr", "int64", []);
  for (const name of ["h", "c"]) graph.input(name, "float32", [2, "batch", 64]);
  const next = blend(graph, "h", loudness(graph));
  const slower = blend(graph, "c", next);
  graph.output("output", "float32", ["batch", 1], probability(graph, slower));
  graph.output("hn", "float32", [2, "batch", 64], next);
  graph.output("cn", "float32", [2, "batch", 64], slower);
  graph.write(path, { opset: 16 });
}

/** [batch, 1]. */
function loudness(graph: Graph): string {
  const squares = graph.node("Mul", ["input", "input"]);
  const mean = graph.node("ReduceMean", [squares], { axes: [1], keepdims: 1 });
  return graph.node("Mul", [mean, graph.floats([1], [GAIN])]);
}

function blend(graph: Graph, old: string, other: string): string {
  return graph.node("Mul", [graph.node("Add", [old, other]), graph.floats([1], [0.5])]);
}

/** The state's first number [batch, 1]. */
function probability(graph: Graph, state: string): string {
  const layer = graph.node("Gather", [state, graph.integers(0)], { axis: 0 });
  return graph.node("Gather", [layer, graph.integers([0])], { axis: 1 });
}
