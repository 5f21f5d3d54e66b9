import { closeSync, openSync } from "node:fs";
import {
  type OnnxOutline,
  type OnnxValue,
  readOnnxOutline,
} from "../../runtime/onnx/onnx-outline.js";
import { type OnnxParts, readOnnxParts } from "../../runtime/onnx/onnx-parts.js";
import {
  FLOAT,
  floatField,
  graphAttribute,
  INPUT,
  int64Field,
  intAttribute,
  intsAttribute,
  nodeField,
  OUTPUT,
  valueField,
} from "../../runtime/onnx/onnx-write.js";
import { withProtobufFile } from "../../runtime/onnx/protobuf-file.js";
import { bytesPieces, type Piece, writePieces } from "../../runtime/onnx/protobuf-pieces.js";
import { bytesField } from "../../runtime/onnx/protobuf-write.js";

/** Slices, splits and reshapes take their numbers as inputs from here on. */
const LEAST_OPSET = 13;
/** Before it, weights were inputs as well. */
const LEAST_IR_VERSION = 4;
const SPLIT_COUNTS_SINCE = 18;
const FLOAT_TYPES = new Set([FLOAT, 10, 16]);

const DENOISER_INPUTS = ["sample", "timestep", "encoder_hidden_states"] as const;
const DENOISER_OUTPUT = "velocity";
const PER_CLIP = ["latents", "states", "negative_states", "anchor", "noise", "pull"] as const;
/** What the sampler declares; the other names that it adds begin with `sampler/`. */
const INTERFACE = new Set<string>([...PER_CLIP, "sigmas", "guidances", "denoised"]);
const OWN = "sampler/";

/**
 * Composes the graph that takes several denoising steps in one run: ONNX's `Scan` over noise levels,
 * whose body is the denoiser for both guided branches, guidance, an Euler step of rectified flow and the
 * pull to a picture. The weights stay in the outer graph; those that lie beside the denoiser are named
 * where they lie, so `samplerPath` must be in its folder. Synchronous: for the command line. Throws a
 * sentence where the denoiser is not of this project's layout.
 */
export function writeSamplerGraph(denoiserPath: string, samplerPath: string): void {
  compose(denoiserPath, samplerPath, loopNodes);
}

/** The same of one step and without the loop: for providers on which a loop has no kernel. */
export function writeStepGraph(denoiserPath: string, stepPath: string): void {
  compose(denoiserPath, stepPath, stepNodes);
}

type ComposeNodes = (parts: OnnxParts, ports: Ports) => Piece[];

function compose(denoiserPath: string, path: string, composeNodes: ComposeNodes): void {
  const ports = findPorts(readOnnxOutline(denoiserPath));
  const parts = withProtobufFile(denoiserPath, readOnnxParts);
  checkParts(parts);
  const nodes = [...outerNodes(ports), ...composeNodes(parts, ports)];
  const source = openSync(denoiserPath, "r");
  try {
    const graph = bytesPieces(7, composeGraph(parts, ports, nodes));
    writePieces(source, path, [...parts.model, ...graph]);
  } finally {
    closeSync(source);
  }
}

interface Ports {
  readonly sample: OnnxValue;
  readonly timestep: OnnxValue;
  readonly states: OnnxValue;
  readonly velocity: OnnxValue;
}

function findPorts({ inputs, outputs }: OnnxOutline): Ports {
  const [sample, timestep, states] = DENOISER_INPUTS.map((wanted) =>
    inputs.find(({ name }) => name === wanted),
  );
  const velocity = outputs.find(({ name }) => name === DENOISER_OUTPUT);
  const names = (values: readonly OnnxValue[]) => values.map(({ name }) => name).join(", ");
  if (!sample || !timestep || !states || !velocity || inputs.length > DENOISER_INPUTS.length)
    throw new Error(
      `a sampler is made of a denoiser from ${DENOISER_INPUTS.join(", ")} to ${DENOISER_OUTPUT}, not from ${names(inputs)} to ${names(outputs)}`,
    );
  const other = [sample, timestep, states, velocity].find(
    ({ elementType }) => !FLOAT_TYPES.has(elementType),
  );
  if (other !== undefined)
    throw new Error(`the denoiser's ${other.name} is not of floating-point numbers`);
  return { sample, timestep, states, velocity };
}

function checkParts({ irVersion, opset, names }: OnnxParts): void {
  if (irVersion < LEAST_IR_VERSION || opset < LEAST_OPSET)
    throw new Error(
      `the denoiser is of IR version ${irVersion} and operator set ${opset}, a sampler needs ${LEAST_IR_VERSION} and ${LEAST_OPSET}`,
    );
  const clash = [...names].find((name) => INTERFACE.has(name) || name.startsWith(OWN));
  if (clash !== undefined)
    throw new Error(`the denoiser calls a value ${clash}, which the sampler needs as a name`);
}

/** [clips, …] as the denoiser has it without the two branches of guidance. */
function perClip({ dims }: OnnxValue): OnnxValue["dims"] {
  return ["clips", ...dims.slice(1)];
}

function composeGraph(parts: OnnxParts, ports: Ports, nodes: readonly Piece[]): Piece[] {
  const latents = perClip(ports.sample);
  const states = perClip(ports.states);
  const shapes = { latents, states, negative_states: states, anchor: latents, noise: latents };
  const pull = [...latents.slice(0, -1), 1];
  const input = (name: string, dims: OnnxValue["dims"]) =>
    valueField(INPUT, { name, elementType: FLOAT, dims });
  return [
    ...nodes,
    bytesField(2, "sampler"),
    ...parts.weights,
    int64Field("sampler/0", [0]),
    int64Field("sampler/1", [1]),
    int64Field("sampler/-1", [-1]),
    int64Field("sampler/end", [Number.MAX_SAFE_INTEGER]),
    int64Field("sampler/column", [-1, ...latents.slice(1).map(() => 1)]),
    floatField("sampler/one", [1]),
    ...PER_CLIP.map((name) => input(name, name === "pull" ? pull : shapes[name])),
    input("sigmas", ["clips", "levels"]),
    input("guidances", ["clips", "steps"]),
    valueField(OUTPUT, { name: "denoised", elementType: FLOAT, dims: latents }),
  ];
}

/** A node of one output. */
function op(
  operator: string,
  inputs: readonly string[],
  output: string,
  attributes: readonly (readonly Piece[])[] = [],
): Piece[] {
  return nodeField({ operator, inputs, outputs: [output], attributes });
}

const axis = (at: number) => intAttribute("axis", at);

/** Both branches of guidance, as the denoiser reads them. */
function joined(inputs: readonly [string, string], { name, elementType }: OnnxValue): Piece[] {
  if (elementType === FLOAT) return op("Concat", inputs, name, [axis(0)]);
  const both = `${OWN}both ${name}`;
  const cast = op("Cast", [both], name, [intAttribute("to", elementType)]);
  return [...op("Concat", inputs, both, [axis(0)]), ...cast];
}

/** What does not change from step to step, and the noise levels at which steps begin and end. */
function outerNodes({ states }: Ports): Piece[] {
  const slice = (from: string, to: string, output: string) =>
    op("Slice", ["sigmas", `${OWN}${from}`, `${OWN}${to}`, "sampler/1"], output);
  return [
    ...joined(["states", "negative_states"], states),
    ...slice("0", "-1", "sampler/levels"),
    ...slice("1", "end", "sampler/next levels"),
    ...op("Sub", ["sampler/one", "pull"], "sampler/keep"),
  ];
}

function loopNodes(parts: OnnxParts, ports: Ports): Piece[] {
  const inputs = ["latents", "sampler/levels", "sampler/next levels", "guidances"];
  return op("Scan", inputs, "denoised", [
    graphAttribute("body", composeBody(parts, ports)),
    intAttribute("num_scan_inputs", 3),
    intsAttribute("scan_input_axes", [1, 1, 1]),
  ]);
}

function stepNodes(parts: OnnxParts, ports: Ports): Piece[] {
  const flat = (from: string, to: string) => op("Reshape", [from, "sampler/-1"], to);
  return [
    ...op("Identity", ["latents"], "sampler/latents"),
    ...flat("sampler/levels", "sampler/level"),
    ...flat("sampler/next levels", "sampler/next"),
    ...flat("guidances", "sampler/guidance"),
    ...bodyNodes(parts, ports),
    ...op("Identity", ["sampler/moved"], "denoised"),
  ];
}

function composeBody(parts: OnnxParts, ports: Ports): Piece[] {
  const latents = perClip(ports.sample);
  const value = (field: typeof INPUT | typeof OUTPUT, name: string, dims: OnnxValue["dims"]) =>
    valueField(field, { name, elementType: FLOAT, dims });
  return [
    ...bodyNodes(parts, ports),
    bytesField(2, "step"),
    value(INPUT, "sampler/latents", latents),
    value(INPUT, "sampler/level", ["clips"]),
    value(INPUT, "sampler/next", ["clips"]),
    value(INPUT, "sampler/guidance", ["clips"]),
    value(OUTPUT, "sampler/moved", latents),
  ];
}

function bodyNodes(parts: OnnxParts, ports: Ports): Piece[] {
  return [
    ...joined(["sampler/latents", "sampler/latents"], ports.sample),
    ...joined(["sampler/level", "sampler/level"], ports.timestep),
    ...parts.nodes,
    ...guidedVelocity(parts, ports),
    ...movedLatents(),
  ];
}

/** `free + guidance × (velocity − free)`: see `guide` of flow-euler.ts. */
function guidedVelocity({ opset }: OnnxParts, { velocity }: Ports): Piece[] {
  const isFloat = velocity.elementType === FLOAT;
  const cast = op("Cast", [velocity.name], "sampler/velocity", [intAttribute("to", FLOAT)]);
  const counts = opset < SPLIT_COUNTS_SINCE ? [] : [intAttribute("num_outputs", 2)];
  const split = nodeField({
    operator: "Split",
    inputs: [isFloat ? velocity.name : "sampler/velocity"],
    outputs: ["sampler/bound", "sampler/free"],
    attributes: [axis(0), ...counts],
  });
  return [
    ...(isFloat ? [] : cast),
    ...split,
    ...op("Reshape", ["sampler/guidance", "sampler/column"], "sampler/guidance column"),
    ...op("Sub", ["sampler/bound", "sampler/free"], "sampler/difference"),
    ...op("Mul", ["sampler/guidance column", "sampler/difference"], "sampler/guided part"),
    ...op("Add", ["sampler/free", "sampler/guided part"], "sampler/guided"),
  ];
}

/** `latents + (next − level) × guided`, then as far to the picture as `pull` says. */
function movedLatents(): Piece[] {
  return [
    ...op("Sub", ["sampler/next", "sampler/level"], "sampler/step"),
    ...op("Reshape", ["sampler/step", "sampler/column"], "sampler/step column"),
    ...op("Mul", ["sampler/step column", "sampler/guided"], "sampler/way"),
    ...op("Add", ["sampler/latents", "sampler/way"], "sampler/stepped"),
    ...op("Reshape", ["sampler/next", "sampler/column"], "sampler/next column"),
    ...op("Sub", ["sampler/one", "sampler/next column"], "sampler/signal"),
    ...op("Mul", ["sampler/signal", "anchor"], "sampler/anchor part"),
    ...op("Mul", ["sampler/next column", "noise"], "sampler/noise part"),
    ...op("Add", ["sampler/anchor part", "sampler/noise part"], "sampler/target"),
    ...op("Mul", ["sampler/stepped", "sampler/keep"], "sampler/kept"),
    ...op("Mul", ["sampler/target", "pull"], "sampler/pulled"),
    ...op("Add", ["sampler/kept", "sampler/pulled"], "sampler/moved"),
  ];
}
