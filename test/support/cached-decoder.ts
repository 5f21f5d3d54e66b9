import { join } from "node:path";
import { type Attributes, type Dims, type ElementType, Graph } from "./onnx.js";

/** An output of a decoder and the value that becomes it. */
interface Made {
  readonly name: string;
  readonly type: ElementType;
  readonly dims: Dims;
  readonly value: string;
}

/** A decoder with caches of itself and of an encoder, in optimum's layout, and what it computes. */
export interface CachedDecoder {
  /** Where `onnx/` lies. */
  readonly folder: string;
  /** One decoder behind `use_cache_branch`, or the pair that it is merged from. */
  readonly form: DecoderForm;
  readonly sizes: DecoderSizes;
  /** float16 inputs, outputs and caches, in files called `…_fp16.onnx`. */
  readonly half?: boolean;
  /** Weights in files beside the graphs. */
  readonly besides?: boolean;
  /** Declares the inputs beside the caches; later steps of a pair do without the encoder's states. */
  declare(graph: Graph, type: ElementType, hasStates: boolean): void;
  build(nodes: DecoderNodes): void;
}

export type DecoderForm = "merged" | "split";

interface DecoderSizes {
  readonly layers: number;
  readonly heads: number;
  readonly headSize: number;
}

type Files = Pick<CachedDecoder, "folder" | "half" | "besides">;

/** Where a graph goes, and where its weights do. */
export function graphFile({ folder, half = false, besides = false }: Files, name: string) {
  const file = `${name}${half ? "_fp16" : ""}.onnx`;
  return { path: join(folder, "onnx", file), options: besides ? { dataFile: `${file}_data` } : {} };
}

export const floatType = ({ half = false }: Pick<CachedDecoder, "half">): ElementType =>
  half ? "float16" : "float32";

/** Attributes of a Cast to a type of floats. */
export const castTo = (type: ElementType): Attributes => ({ to: type === "float16" ? 10 : 1 });

/** Writes decoder_model_merged, or decoder_model and decoder_with_past_model. */
export function writeCachedDecoder(decoder: CachedDecoder): void {
  if (decoder.form === "merged") return writeMerged(decoder);
  for (const hasPast of [false, true]) {
    const graph = new Graph();
    declareInputs(graph, decoder, { hasPast, hasStates: !hasPast });
    const nodes = new DecoderNodes({ graph, weights: graph, decoder, hasPast });
    decoder.build(nodes);
    for (const { name, type, dims, value } of nodes.made) graph.output(name, type, dims, value);
    const file = graphFile(decoder, hasPast ? "decoder_with_past_model" : "decoder_model");
    graph.write(file.path, file.options);
  }
}

/** Both graphs as branches of one, whose weights lie around them. */
function writeMerged(decoder: CachedDecoder): void {
  const graph = new Graph();
  declareInputs(graph, decoder, { hasPast: true, hasStates: true });
  const condition = graph.input("use_cache_branch", "bool", [1]);
  const [first, next] = [branchOf(graph, decoder, false), branchOf(graph, decoder, true)];
  const outputs = first.made.map(({ name }) => name);
  const branches = { then_branch: next.branch, else_branch: first.branch };
  graph.node("If", [condition], branches, { outputs });
  for (const { name, type, dims } of first.made) graph.output(name, type, dims);
  const file = graphFile(decoder, "decoder_model_merged");
  graph.write(file.path, file.options);
}

function branchOf(graph: Graph, decoder: CachedDecoder, hasPast: boolean) {
  const branch = new Graph(hasPast ? "next" : "first");
  const nodes = new DecoderNodes({ graph: branch, weights: graph, decoder, hasPast });
  decoder.build(nodes);
  const all = hasPast ? [...nodes.made, ...emptyCaches(graph, decoder)] : nodes.made;
  const made = all.toSorted((one, other) => (one.name < other.name ? -1 : 1));
  for (const { name, type, dims, value } of made)
    branch.output(`${branch.prefix}.${name}`, type, dims, value);
  return { branch, made };
}

const cacheNames = (place: "decoder" | "encoder", { layers }: DecoderSizes) =>
  Array.from({ length: layers }, (_, layer) => layer).flatMap((layer) => [
    `${layer}.${place}.key`,
    `${layer}.${place}.value`,
  ]);
const cacheDims = (length: string, { heads, headSize }: DecoderSizes): Dims => [
  "batch_size",
  heads,
  length,
  headSize,
];

/** What the cached branch of a merged decoder says of the encoder's caches: [0, heads, 1, size]. */
function emptyCaches(weights: Graph, decoder: CachedDecoder): Made[] {
  const { heads, headSize } = decoder.sizes;
  const type = floatType(decoder);
  const value = weights.tensor("nothing", type, [0, heads, 1, headSize], new Uint8Array());
  const dims = cacheDims("encoder_sequence_length", decoder.sizes);
  return cacheNames("encoder", decoder.sizes).map((name) => {
    return { name: `present.${name}`, type, dims, value };
  });
}

function declareInputs(
  graph: Graph,
  decoder: CachedDecoder,
  { hasPast, hasStates }: { readonly hasPast: boolean; readonly hasStates: boolean },
): void {
  const type = floatType(decoder);
  decoder.declare(graph, type, hasStates);
  if (!hasPast) return;
  for (const place of ["decoder", "encoder"] as const) {
    const length = place === "decoder" ? "past_decoder_sequence_length" : "encoder_sequence_length";
    for (const name of cacheNames(place, decoder.sizes))
      graph.input(`past_key_values.${name}`, type, cacheDims(length, decoder.sizes));
  }
}

/** Puts a decoder together: `graph` may be a branch, whose weights lie in the graph around it. */
export class DecoderNodes {
  readonly made: Made[] = [];
  readonly weights: Graph;
  private readonly graph: Graph;
  private readonly decoder: CachedDecoder;
  private readonly hasPast: boolean;

  constructor(place: {
    readonly graph: Graph;
    readonly weights: Graph;
    readonly decoder: CachedDecoder;
    readonly hasPast: boolean;
  }) {
    ({
      graph: this.graph,
      weights: this.weights,
      decoder: this.decoder,
      hasPast: this.hasPast,
    } = place);
  }

  node(operator: string, inputs: readonly string[], attributes: Attributes = {}): string {
    return this.graph.node(operator, inputs, attributes);
  }

  times(value: string, factor: number | string): string {
    return this.node("Mul", [value, this.valueOf(factor)]);
  }

  sum(first: string, ...others: readonly (number | string)[]): string {
    return others.reduce<string>((total, it) => this.node("Add", [total, this.valueOf(it)]), first);
  }

  private valueOf(value: number | string): string {
    return typeof value === "string" ? value : this.weights.floats([1], [value]);
  }

  /** An axis more at each of `axes`. */
  unsqueeze(value: string, ...axes: readonly number[]): string {
    return this.node("Unsqueeze", [value, this.weights.integers(axes)]);
  }

  /** What stands at an index of an axis, without that axis. */
  pick(value: string, axis: number, index = 0): string {
    return this.node("Gather", [value, this.weights.integers(index)], { axis });
  }

  /** Makes an output of a value, in the decoder's type. */
  output(name: string, dims: Dims, value: string): void {
    const type = floatType(this.decoder);
    this.made.push({ name, type, dims, value: this.node("Cast", [value], castTo(type)) });
  }

  /** An input of the decoder's type as float32. */
  input(name: string): string {
    return this.node("Cast", [name], castTo("float32"));
  }

  /** Fills a cache with a number of each token [batch, tokens], and gives those of all so far [batch, all]. */
  remember(cache: string, numbers: string): string {
    const { sizes } = this.decoder;
    const shape = this.weights.integers([1, sizes.heads, 1, sizes.headSize]);
    const own = this.node("Expand", [this.unsqueeze(numbers, 1, 3), shape]);
    const past = () => this.input(`past_key_values.${cache}`);
    const all = this.hasPast ? this.node("Concat", [past(), own], { axis: 2 }) : own;
    const length = "past_decoder_sequence_length + decoder_sequence_length";
    this.output(`present.${cache}`, cacheDims(length, sizes), all);
    return this.pick(this.pick(all, 1), 2);
  }

  /** The sum of all numbers up to each token [batch, all]. */
  sumSoFar(numbers: string): string {
    return this.node("CumSum", [numbers, this.weights.integers(1)]);
  }

  /** Of the numbers of all tokens those of this run's [batch, tokens, 1]. */
  ofThisRun(numbers: string): string {
    const length = this.node("Shape", ["input_ids"], { start: 1, end: 2 });
    const [end, axis] = [this.weights.integers([2 ** 31]), this.weights.integers([1])];
    return this.unsqueeze(this.node("Slice", [numbers, this.node("Neg", [length]), end, axis]), 2);
  }

  /**
   * Keys or values of the encoder's states [batch, heads, places, size]: made of the feature
   * `featureOf(index in the head)` in the first step, and remembered.
   */
  encoderCache(cache: string, featureOf: (index: number) => number): string {
    const { heads, headSize } = this.decoder.sizes;
    if (this.hasPast) return this.input(`past_key_values.${cache}`);
    const width = heads * headSize;
    const projection = this.weights.floats([width, width], (index) =>
      Math.floor(index / width) === featureOf(index % headSize) ? 1 : 0,
    );
    const rows = this.node("MatMul", [this.input("encoder_hidden_states"), projection]);
    const shape = this.weights.integers([0, -1, heads, headSize]);
    const made = this.node("Transpose", [this.node("Reshape", [rows, shape])], {
      perm: [0, 2, 1, 3],
    });
    const dims = cacheDims("encoder_sequence_length", this.decoder.sizes);
    this.output(`present.${cache}`, dims, made);
    return made;
  }
}
