import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import protobuf from "protobufjs";
import { writeModelPackage } from "./model-manifest.js";

/** The part of onnx.proto3 that the graph needs; field numbers are ONNX's. */
const SCHEMA = `
syntax = "proto3";
message Dimension { int64 dim_value = 1; string dim_param = 2; }
message Shape { repeated Dimension dim = 1; }
message TensorType { int32 elem_type = 1; Shape shape = 2; }
message Type { TensorType tensor_type = 1; }
message Value { string name = 1; Type type = 2; }
message Node { repeated string input = 1; repeated string output = 2; string op_type = 4; }
message Graph { repeated Node node = 1; string name = 2; repeated Value input = 11; repeated Value output = 12; }
message Opset { string domain = 1; int64 version = 2; }
message Model { int64 ir_version = 1; Graph graph = 7; repeated Opset opset_import = 8; }
`;

const floats = (sides: readonly number[]) => ({
  tensor_type: {
    elem_type: 1,
    shape: { dim: [{ dim_param: "batch" }, ...sides.map((dim_value) => ({ dim_value }))] },
  },
});

const GRAPH = {
  ir_version: 8,
  opset_import: [{ domain: "", version: 17 }],
  graph: {
    name: "colours",
    node: [
      { input: ["pixel_values"], output: ["mean"], op_type: "GlobalAveragePool" },
      { input: ["mean"], output: ["logits"], op_type: "Flatten" },
    ],
    input: [{ name: "pixel_values", type: floats([3, 8, 8]) }],
    output: [{ name: "logits", type: floats([3]) }],
  },
};

/** A package whose logits are the mean red, green and blue of a picture, each −1 to 1. */
export function makePictureClassifier(labels: readonly string[]): string {
  const folder = mkdtempSync(join(tmpdir(), "framemill-pictures-"));
  process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
  const model = protobuf.parse(SCHEMA, { keepCase: true }).root.lookupType("Model");
  const json = (value: unknown) => Buffer.from(JSON.stringify(value));
  const contents = {
    classifier: ["model.onnx", model.encode(model.fromObject(GRAPH)).finish()],
    config: ["config.json", json({ id2label: Object.fromEntries(labels.entries()) })],
    "preprocessor-config": ["preprocessor_config.json", json({ size: 8, resample: 2 })],
  } as const;
  const manifest = {
    id: "pictures",
    modality: "moderation",
    pipeline: "image-classifier",
    execution: { providers: ["cpu"], concurrency: 32 },
    shapes: { activation: "softmax", reads: ["image"] },
  };
  writeModelPackage(folder, manifest, contents);
  return folder;
}
