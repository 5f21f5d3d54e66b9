import { writeFileSync } from "node:fs";
import protobuf from "protobufjs";

/** The part of onnx.proto3 that a test graph needs; field numbers are ONNX's. */
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
message Attribute { string name = 1; Tensor t = 5; Graph g = 6; int32 type = 20; }
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

const model = protobuf.parse(SCHEMA, { keepCase: true }).root.lookupType("Model");

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

const FLOATS = {
  tensor_type: { elem_type: 1, shape: { dim: [{ dim_param: "batch" }, { dim_value: 2 }] } },
};

/** A tensor whose two float32 values lie in another file. */
export function externalTensor(name: string, location: string, offset = 0) {
  const entries = { location, offset: String(offset), length: "8" };
  const external_data = Object.entries(entries).map(([key, value]) => ({ key, value }));
  return { name, dims: [2], data_type: 1, data_location: 1, external_data };
}

/** Writes a graph of one operator a named output, float32 [batch, 2] each. */
export function writeOnnx(path: string, graph: TestGraph): void {
  const { inputs = ["x"], outputs = ["y"], operator = "Identity", domain = "", opset = 17 } = graph;
  const value = (name: string) => ({ name, type: graph.inputType ?? FLOATS });
  const own = outputs.map((output) => ({
    input: [inputs[0]],
    output: [output],
    op_type: operator,
    domain,
  }));
  const message = {
    ir_version: 8,
    opset_import: [{ domain: "", version: opset }, ...(domain ? [{ domain, version: 1 }] : [])],
    graph: {
      name: "test",
      node: [...own, ...(graph.nodes ?? [])],
      initializer: graph.initializers ?? [],
      input: inputs.map(value),
      output: (graph.outputValues ?? outputs).map(value),
    },
  };
  writeFileSync(path, model.encode(model.fromObject(message)).finish());
}
