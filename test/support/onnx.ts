import { mkdirSync, writeFileSync } from "node:fs";
import { basename, dirname } from "node:path";
import protobuf from "protobufjs";

/** The part of onnx.proto3 that test graphs need; field numbers are ONNX's. */
const SCHEMA = `
syntax = "proto3";
message Entry { string key = 1; string value = 2; }
message Tensor {
  repeated int64 dims = 1; int32 data_type = 2; string name = 8; bytes raw_data = 9;
  repeated Entry external_data = 13; int32 data_location = 14;
}
message Dimension { int64 dim_value = 1; string dim_param = 2; }
message Shape { repeated Dimension dim = 1; }
message TensorType { int32 elem_type = 1; Shape shape = 2; }
message Type { TensorType tensor_type = 1; }
message Value { string name = 1; Type type = 2; }
message Attribute {
  string name = 1; float f = 2; int64 i = 3; bytes s = 4; Tensor t = 5; Graph g = 6;
  repeated float floats = 7; repeated int64 ints = 8; repeated bytes strings = 9; int32 type = 20;
}
message Node {
  repeated string input = 1; repeated string output = 2; string name = 3; string op_type = 4;
  repeated Attribute attribute = 5; string domain = 7;
}
message Graph {
  repeated Node node = 1; string name = 2; repeated Tensor initializer = 5;
  repeated Value input = 11; repeated Value output = 12;
}
message Opset { string domain = 1; int64 version = 2; }
message Model { int64 ir_version = 1; Graph graph = 7; repeated Opset opset_import = 8; }
`;

const modelType = protobuf.parse(SCHEMA, { keepCase: true }).root.lookupType("Model");

/** ONNX's numbers of the element types. */
const ELEMENT_TYPES = { float32: 1, int32: 6, int64: 7, string: 8, bool: 9, float16: 10 } as const;
export type ElementType = keyof typeof ELEMENT_TYPES;
/** Numbers, and names of free dimensions. */
export type Dims = readonly (number | string)[];

/** A whole number or a list of them, a text, a graph of a branch, or numbers that are said to be floats. */
export type AttributeValue =
  | number
  | string
  | readonly number[]
  | { readonly float: number }
  | { readonly floats: readonly number[] }
  | Graph;
export type Attributes = Readonly<Record<string, AttributeValue>>;

interface Tensor {
  readonly name: string;
  readonly dims: readonly number[];
  readonly data_type: number;
  readonly raw_data: Uint8Array;
}

export interface NodeOptions {
  /** `com.microsoft`, for ONNX Runtime's own operators. */
  readonly domain?: string;
  /** Names of all outputs; one that is made up, where absent. */
  readonly outputs?: readonly string[];
}

/** A graph that is put together operator by operator, and written as an ONNX file. */
export class Graph {
  private readonly inputs: object[] = [];
  private readonly outputs: object[] = [];
  private readonly nodes: object[] = [];
  private readonly tensors: Tensor[] = [];
  private readonly domains = new Set<string>();
  private count = 0;
  /** Apart from those of other graphs: a branch must not use a name of the graph around it. */
  readonly prefix: string;

  constructor(prefix = "n") {
    this.prefix = prefix;
  }

  /** Declares an input and gives its name. */
  input(name: string, type: ElementType, dims: Dims): string {
    this.inputs.push(valueOf(name, type, dims));
    return name;
  }

  /** Declares an output: a value of that name that is computed, or `of`, which is passed on under it. */
  output(name: string, type: ElementType, dims: Dims, of?: string): void {
    if (of !== undefined) this.node("Identity", [of], {}, { outputs: [name] });
    this.outputs.push(valueOf(name, type, dims));
  }

  /** Adds an operator and gives the name of its first output. */
  node(
    operator: string,
    inputs: readonly string[],
    attributes: Attributes = {},
    { domain = "", outputs = [this.name()] }: NodeOptions = {},
  ): string {
    this.domains.add(domain);
    const attribute = Object.entries(attributes).map(([name, value]) => {
      if (value instanceof Graph) for (const inner of value.domains) this.domains.add(inner);
      return attributeOf(name, value);
    });
    this.nodes.push({ input: inputs, output: outputs, op_type: operator, domain, attribute });
    return outputs[0] ?? "";
  }

  /** float32 weights of a list of values, or of the value at each index. */
  floats(
    dims: readonly number[],
    values: ArrayLike<number> | ((index: number) => number),
    name = this.name(),
  ): string {
    const valueAt = typeof values === "function" ? values : (index: number) => values[index] ?? 0;
    const data = Float32Array.from({ length: elementsOf(dims) }, (_, index) => valueAt(index));
    return this.tensor(name, "float32", dims, new Uint8Array(data.buffer));
  }

  /** int64 constants: a list [length], or one number [] where a number is given. */
  integers(values: number | readonly number[], name = this.name()): string {
    const list = typeof values === "number" ? [values] : values;
    const dims = typeof values === "number" ? [] : [list.length];
    const data = BigInt64Array.from(list, BigInt);
    return this.tensor(name, "int64", dims, new Uint8Array(data.buffer));
  }

  /** A constant of any type from its bytes, little-endian. */
  tensor(name: string, type: ElementType, dims: readonly number[], raw_data: Uint8Array): string {
    this.tensors.push({ name, dims, data_type: ELEMENT_TYPES[type], raw_data });
    return name;
  }

  /** ONNX's GraphProto. */
  toMessage(): object {
    return {
      name: "test",
      node: this.nodes,
      initializer: this.tensors,
      input: this.inputs,
      output: this.outputs,
    };
  }

  /** Writes the file and its folder; weights of 256 bytes and more go beside it into the file `dataFile`. */
  write(path: string, options: { readonly opset?: number; readonly dataFile?: string } = {}) {
    const { opset = 17, dataFile } = options;
    mkdirSync(dirname(path), { recursive: true });
    const graph = this.toMessage();
    const initializer =
      dataFile === undefined ? this.tensors : this.putBeside(dirname(path), dataFile);
    this.domains.delete("");
    writeModel(path, { ...graph, initializer }, { "": opset, ...versionOne(this.domains) });
  }

  private putBeside(folder: string, file: string): object[] {
    const pieces: Uint8Array[] = [];
    let offset = 0;
    const tensors = this.tensors.map((tensor) => {
      const { raw_data, ...rest } = tensor;
      if (raw_data.byteLength < 256) return tensor;
      const place = { location: basename(file), offset, length: raw_data.byteLength };
      pieces.push(raw_data);
      offset += raw_data.byteLength;
      return { ...rest, ...externalData(place) };
    });
    writeFileSync(`${folder}/${file}`, Buffer.concat(pieces));
    return tensors;
  }

  private name(): string {
    this.count += 1;
    return `${this.prefix}${this.count}`;
  }
}

/** A tensor whose two float32 values lie in another file. */
export function externalTensor(name: string, location: string, offset = 0) {
  return { name, dims: [2], data_type: 1, ...externalData({ location, offset, length: 8 }) };
}

/** A graph of which only names and shapes matter. */
export interface TestGraph {
  readonly inputs?: readonly string[];
  readonly outputs?: readonly string[];
  readonly operator?: string;
  readonly domain?: string;
  readonly opset?: number;
  readonly initializers?: readonly object[];
  readonly nodes?: readonly object[];
  readonly inputType?: object;
  /** Declared outputs; those of the operators of `outputs` where absent. */
  readonly outputValues?: readonly string[];
}

/** Writes a graph of one operator a named output, float32 [batch, 2] each. */
export function writeOnnx(path: string, graph: TestGraph): void {
  const { inputs = ["x"], outputs = ["y"], operator = "Identity", domain = "", opset = 17 } = graph;
  const { type } = valueOf("", "float32", ["batch", 2]);
  const value = (name: string) => ({ name, type: graph.inputType ?? type });
  const own = outputs.map((output) => ({
    input: [inputs[0]],
    output: [output],
    op_type: operator,
    domain,
  }));
  const message = {
    name: "test",
    node: [...own, ...(graph.nodes ?? [])],
    initializer: graph.initializers ?? [],
    input: inputs.map(value),
    output: (graph.outputValues ?? outputs).map(value),
  };
  writeModel(path, message, { "": opset, ...versionOne(domain ? [domain] : []) });
}

/** Random numbers in [−1, 1), the same in every run (a linear congruential generator). */
export function createRandom(seed = 1): () => number {
  let state = seed;
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31;
    return state / 2 ** 30 - 1;
  };
}

function writeModel(path: string, graph: object, opsets: Readonly<Record<string, number>>): void {
  const opset_import = Object.entries(opsets).map(([domain, version]) => ({ domain, version }));
  const message = modelType.fromObject({ ir_version: 8, opset_import, graph });
  writeFileSync(path, modelType.encode(message).finish());
}

function versionOne(domains: Iterable<string>): Record<string, number> {
  return Object.fromEntries([...domains].map((domain) => [domain, 1]));
}

function externalData(place: Readonly<Record<string, string | number>>) {
  const external_data = Object.entries(place).map(([key, value]) => ({ key, value: `${value}` }));
  return { data_location: 1, external_data };
}

function valueOf(name: string, type: ElementType, dims: Dims) {
  const dim = dims.map((size) =>
    typeof size === "number" ? { dim_value: size } : { dim_param: size },
  );
  return { name, type: { tensor_type: { elem_type: ELEMENT_TYPES[type], shape: { dim } } } };
}

function attributeOf(name: string, value: AttributeValue): object {
  if (typeof value === "number") return { name, i: value, type: 2 };
  if (typeof value === "string") return { name, s: Buffer.from(value), type: 3 };
  if (value instanceof Graph) return { name, g: value.toMessage(), type: 5 };
  if ("float" in value) return { name, f: value.float, type: 1 };
  if ("floats" in value) return { name, floats: value.floats, type: 6 };
  return { name, ints: value, type: 7 };
}

function elementsOf(dims: readonly number[]): number {
  return dims.reduce((product, size) => product * size, 1);
}
