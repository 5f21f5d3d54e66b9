import { writeFileSync } from "node:fs";
import protobuf from "protobufjs";

/** The part of onnx.proto3 that is written here; field numbers are ONNX's. */
const SCHEMA = `
syntax = "proto3";
message Tensor { repeated int64 dims = 1; int32 data_type = 2; string name = 8; bytes raw_data = 9; }
message Dimension { int64 dim_value = 1; string dim_param = 2; }
message Shape { repeated Dimension dim = 1; }
message TensorType { int32 elem_type = 1; Shape shape = 2; }
message Type { TensorType tensor_type = 1; }
message Value { string name = 1; Type type = 2; }
message Attribute { string name = 1; int64 i = 3; int32 type = 20; }
message Node {
  repeated string input = 1; repeated string output = 2; string op_type = 4;
  repeated Attribute attribute = 5; string domain = 7;
}
message Graph {
  repeated Node node = 1; string name = 2; repeated Tensor initializer = 5;
  repeated Value input = 11; repeated Value output = 12;
}
message Opset { string domain = 1; int64 version = 2; }
message Model { int64 ir_version = 1; Graph graph = 7; repeated Opset opset_import = 8; }
`;
const model = protobuf.parse(SCHEMA, { keepCase: true }).root.lookupType("Model");

const FLOAT = 1;
const INT32 = 6;
const INT64 = 7;
const VOCABULARY = 512;
const HEAD = 16;
const POSITIONS = 512;

/**
 * A decoder of one layer around GroupQueryAttention, as ONNX Runtime GenAI builds them: no positions, the
 * mask's ones are counted, and short rows stand at the start. Weights are drawn from a fixed sequence.
 */
export function writeGroupedAttentionGraph(path: string): void {
  const random = createSequence();
  const weights = (name: string, dims: number[]) => floats(name, dims, random);
  const angle = (index: number) => Math.floor(index / 8) / 100 ** ((index % 8) / 8);
  const graph = {
    name: "grouped-attention",
    initializer: [
      weights("queries", [VOCABULARY, 2 * HEAD]),
      weights("keys", [VOCABULARY, HEAD]),
      weights("values", [VOCABULARY, HEAD]),
      weights("head", [2 * HEAD, VOCABULARY]),
      floats("cosines", [POSITIONS, 8], (index) => Math.cos(angle(index))),
      floats("sines", [POSITIONS, 8], (index) => Math.sin(angle(index))),
      integer("one", 1, [1]),
      integer("axis", 1, []),
    ],
    node: NODES,
    input: [
      value("input_ids", INT64, ["rows", "tokens"]),
      value("attention_mask", INT64, ["rows", "total"]),
      ...["key", "value"].map((part) => cache(`past_key_values.0.${part}`, "past")),
    ],
    output: [
      value("logits", FLOAT, ["rows", "tokens", VOCABULARY]),
      ...["key", "value"].map((part) => cache(`present.0.${part}`, "total")),
    ],
  };
  const opsets = { "": 17, "com.microsoft": 1 };
  const opset_import = Object.entries(opsets).map(([domain, version]) => ({ domain, version }));
  const message = model.fromObject({ ir_version: 8, opset_import, graph });
  writeFileSync(path, model.encode(message).finish());
}

const NODES = [
  node("Gather", ["queries", "input_ids"], ["q"]),
  node("Gather", ["keys", "input_ids"], ["k"]),
  node("Gather", ["values", "input_ids"], ["v"]),
  node("ReduceSum", ["attention_mask", "one"], ["ones"], { keepdims: 0 }),
  node("Sub", ["ones", "one"], ["lasts64"]),
  node("Cast", ["lasts64"], ["lasts"], { to: INT32 }),
  node("Shape", ["attention_mask"], ["shape"]),
  node("Gather", ["shape", "axis"], ["total64"]),
  node("Cast", ["total64"], ["total"], { to: INT32 }),
  {
    ...node(
      "GroupQueryAttention",
      "q k v past_key_values.0.key past_key_values.0.value lasts total cosines sines".split(" "),
      ["attended", "present.0.key", "present.0.value"],
      { num_heads: 2, kv_num_heads: 1, do_rotary: 1 },
    ),
    domain: "com.microsoft",
  },
  node("Add", ["attended", "q"], ["states"]),
  node("MatMul", ["states", "head"], ["logits"]),
];

function node(
  operator: string,
  input: string[],
  output: string[],
  attributes: Readonly<Record<string, number>> = {},
) {
  const attribute = Object.entries(attributes).map(([name, i]) => ({ name, i, type: 2 }));
  return { op_type: operator, input, output, attribute };
}

function value(name: string, type: number, dims: readonly (number | string)[]) {
  const dim = dims.map((size) =>
    typeof size === "number" ? { dim_value: size } : { dim_param: size },
  );
  return { name, type: { tensor_type: { elem_type: type, shape: { dim } } } };
}

function cache(name: string, length: string) {
  return value(name, FLOAT, ["rows", 1, length, HEAD]);
}

function floats(name: string, dims: number[], valueAt: (index: number) => number) {
  const length = dims.reduce((product, dim) => product * dim, 1);
  const data = Float32Array.from({ length }, (_, index) => valueAt(index));
  return { name, dims, data_type: FLOAT, raw_data: new Uint8Array(data.buffer) };
}

function integer(name: string, only: number, dims: number[]) {
  const raw_data = new Uint8Array(BigInt64Array.of(BigInt(only)).buffer);
  return { name, dims, data_type: INT64, raw_data };
}

/** Numbers in [−1, 1) of a linear congruential generator. */
function createSequence(): () => number {
  let state = 1;
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31;
    return state / 2 ** 30 - 1;
  };
}
