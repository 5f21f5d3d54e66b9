import { cp, mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import protobuf from "protobufjs";
import { publishedModel } from "./published-models.js";

/** The part of onnx.proto3 that these graphs need; field numbers are ONNX's. */
const SCHEMA = `
syntax = "proto3";
message Tensor {
  repeated int64 dims = 1; int32 data_type = 2; repeated float float_data = 4;
  repeated int64 int64_data = 7; string name = 8;
}
message Dimension { int64 dim_value = 1; string dim_param = 2; }
message Shape { repeated Dimension dim = 1; }
message TensorType { int32 elem_type = 1; Shape shape = 2; }
message Type { TensorType tensor_type = 1; }
message Value { string name = 1; Type type = 2; }
message Attribute {
  string name = 1; int64 i = 3; bytes s = 4; repeated int64 ints = 8; int32 type = 20;
}
message Node {
  repeated string input = 1; repeated string output = 2; string op_type = 4;
  repeated Attribute attribute = 5;
}
message Graph {
  repeated Node node = 1; string name = 2; repeated Tensor initializer = 5;
  repeated Value input = 11; repeated Value output = 12;
}
message Opset { string domain = 1; int64 version = 2; }
message Model { int64 ir_version = 1; Graph graph = 7; repeated Opset opset_import = 8; }
`;
const modelType = protobuf.parse(SCHEMA, { keepCase: true }).root.lookupType("Model");

const FLOAT = 1;
const INT64 = 7;
type Dims = readonly (number | string)[];

const floats = (name: string, dims: readonly number[], float_data: readonly number[]) => ({
  name,
  dims,
  data_type: FLOAT,
  float_data,
});
const integers = (name: string, int64_data: readonly number[]) => ({
  name,
  dims: [int64_data.length],
  data_type: INT64,
  int64_data,
});
const ints = (name: string, values: readonly number[]) => ({ name, ints: values, type: 7 });
const int = (name: string, value: number) => ({ name, i: value, type: 2 });

const value = (name: string, dims: Dims, elem_type = FLOAT) => ({
  name,
  type: {
    tensor_type: {
      elem_type,
      shape: {
        dim: dims.map((dim) => (typeof dim === "number" ? { dim_value: dim } : { dim_param: dim })),
      },
    },
  },
});

const node = (
  op_type: string,
  input: readonly string[],
  output: string,
  attribute: readonly object[] = [],
) => ({ op_type, input, output: [output], attribute });

async function writeGraph(folder: string, graph: object): Promise<void> {
  await mkdir(folder, { recursive: true });
  const message = {
    ir_version: 8,
    opset_import: [{ domain: "", version: 17 }],
    graph: { name: "g", ...graph },
  };
  const problem = modelType.verify(message);
  if (problem !== null) throw new Error(problem);
  const bytes = modelType.encode(modelType.fromObject(message)).finish();
  await writeFile(join(folder, "model.onnx"), bytes);
}

/** States of an encoder: each id / 50 000 times `first + 10 × layer`; `text_embeds` times `first + 100`. */
async function writeEncoder(folder: string, first: number, features: number): Promise<void> {
  const layers = [0, 1, 2];
  const states = (name: string, weight: number) => ({
    initializer: floats(`${name}.w`, [features], Array(features).fill(weight / 50_000)),
    node: node("Mul", ["column", `${name}.w`], name),
    output: value(name, ["batch", "tokens", features]),
  });
  const hidden = layers.map((layer) => states(`hidden_states.${layer}`, first + 10 * layer));
  const last = states("last_hidden_state", first + 50);
  const pooled = states("before_pooling", first + 100);
  await writeGraph(folder, {
    input: [value("input_ids", ["batch", "tokens"], INT64)],
    output: [
      ...[...hidden, last].map(({ output }) => output),
      value("text_embeds", ["batch", features]),
    ],
    initializer: [
      ...[...hidden, last, pooled].map(({ initializer }) => initializer),
      integers("two", [2]),
    ],
    node: [
      node("Cast", ["input_ids"], "floats", [int("to", FLOAT)]),
      node("Unsqueeze", ["floats", "two"], "column"),
      ...[...hidden, last, pooled].map((state) => state.node),
      node("ReduceMean", ["before_pooling"], "text_embeds", [
        ints("axes", [1]),
        int("keepdims", 0),
      ]),
    ],
  });
  await writeFile(join(folder, "config.json"), "{}");
}

export interface DenoiserShape {
  readonly sample: string;
  readonly output: string;
  readonly pooled: string;
  /** Dimensions of the timestep: `[]` or `["batch"]`. */
  readonly timestep: Dims;
  readonly contextFeatures: number;
  readonly pooledFeatures: number;
  readonly hasTimeIds: boolean;
  /** Batch that the graph is fixed to; free where absent. */
  readonly batch?: number;
}

/** `0.3 sample + mean(context) + mean(pooled) + mean(time_ids) / 1000 + timestep / 1000`. */
async function writeDenoiser(folder: string, shape: DenoiserShape): Promise<void> {
  const { sample, output, pooled, contextFeatures, pooledFeatures, hasTimeIds } = shape;
  const batch = shape.batch ?? "batch";
  const mean = (input: string, name: string, axes: readonly number[]) =>
    node("ReduceMean", [input], name, [ints("axes", axes), int("keepdims", 0)]);
  const latents = [batch, 4, "height", "width"];
  await writeGraph(folder, {
    input: [
      value(sample, latents),
      value("timestep", shape.timestep),
      value("encoder_hidden_states", [batch, "tokens", contextFeatures]),
      value(pooled, [batch, pooledFeatures]),
      ...(hasTimeIds ? [value("time_ids", [batch, 6])] : []),
    ],
    output: [value(output, latents)],
    initializer: [
      floats("share", [], [0.3]),
      floats("thousandth", [], [0.001]),
      integers("column", [-1, 1, 1, 1]),
    ],
    node: [
      mean("encoder_hidden_states", "context_mean", [1, 2]),
      mean(pooled, "pooled_mean", [1]),
      node("Add", ["context_mean", "pooled_mean"], "text"),
      ...(hasTimeIds
        ? [
            mean("time_ids", "size_mean", [1]),
            node("Mul", ["size_mean", "thousandth"], "size"),
            node("Add", ["text", "size"], "told"),
          ]
        : [node("Identity", ["text"], "told")]),
      node("Mul", ["timestep", "thousandth"], "time"),
      node("Add", ["told", "time"], "offsets"),
      node("Reshape", ["offsets", "column"], "offset"),
      node("Mul", [sample, "share"], "kept"),
      node("Add", ["kept", "offset"], output),
    ],
  });
}

/** The first three channels, eight times as large. */
async function writeDecoder(folder: string): Promise<void> {
  await writeGraph(folder, {
    input: [value("latent_sample", ["batch", 4, "height", "width"])],
    output: [value("sample", ["batch", 3, "height8", "width8"])],
    initializer: [
      integers("start", [0]),
      integers("end", [3]),
      integers("axis", [1]),
      floats("scales", [4], [1, 1, 8, 8]),
    ],
    node: [
      node("Slice", ["latent_sample", "start", "end", "axis"], "rgb"),
      node("Resize", ["rgb", "", "scales"], "sample"),
    ],
  });
  const config = { scaling_factor: 1, block_out_channels: [1, 1, 1, 1] };
  await writeFile(join(folder, "config.json"), JSON.stringify(config));
}

export interface TinyDiffusion {
  readonly index: object;
  readonly scheduler: object;
  /** `unet` or `transformer`. */
  readonly denoiserFolder: string;
  readonly denoiserConfig: object;
  readonly denoiser: DenoiserShape;
}

/** A folder in optimum's layout with two text encoders of 3 and 5 features, whose numbers have formulas. */
export async function writeTinyDiffusion(folder: string, tiny: TinyDiffusion): Promise<void> {
  await writeEncoder(join(folder, "text_encoder"), 1, 3);
  await writeEncoder(join(folder, "text_encoder_2"), 2, 5);
  await writeDenoiser(join(folder, tiny.denoiserFolder), tiny.denoiser);
  await writeDecoder(join(folder, "vae_decoder"));
  const published = publishedModel("tiny-official/image-sd15/tokenizer");
  for (const name of ["tokenizer", "tokenizer_2"])
    await cp(published, join(folder, name), { recursive: true });
  // As in SDXL: the second tokenizer pads with "!", whose id is 0.
  const padding = {
    tokenizer_class: "CLIPTokenizer",
    bos_token: "<|startoftext|>",
    eos_token: "<|endoftext|>",
    unk_token: "<|endoftext|>",
    pad_token: "!",
  };
  const tokenizer = JSON.stringify({ ...padding, model_max_length: 77 });
  await writeFile(join(folder, "tokenizer_2", "tokenizer_config.json"), tokenizer);
  await mkdir(join(folder, "scheduler"), { recursive: true });
  const files: Record<string, object> = {
    "model_index.json": tiny.index,
    "scheduler/scheduler_config.json": tiny.scheduler,
    [`${tiny.denoiserFolder}/config.json`]: tiny.denoiserConfig,
  };
  for (const [name, content] of Object.entries(files))
    await writeFile(join(folder, name), JSON.stringify(content));
}
