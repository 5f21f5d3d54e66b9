import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { check, nat, property, record } from "fast-check";
import { afterAll, describe, expect, test } from "vitest";
import { openGraphs } from "#framemill/runtime/ort/graphs.js";
import {
  checkExternalData,
  checkTensors,
  explainOpenFailure,
} from "#framemill/runtime/onnx/onnx-check.js";
import { readOnnxOutline } from "#framemill/runtime/onnx/onnx-outline.js";
import { createModelFolders } from "../../../support/model-folders.js";
import { externalTensor, type TestGraph, writeOnnx } from "../../../support/onnx.js";

const folders = createModelFolders();
afterAll(() => folders.remove());

function graphOf(name: string, graph: TestGraph) {
  const path = join(folders.root, `${name}.onnx`);
  writeOnnx(path, graph);
  return { role: "decoder", path: `${name}.onnx`, outline: readOnnxOutline(path) };
}

const locate = (path: string) => join(folders.root, path);

describe("an ONNX file's outline", () => {
  test("names inputs and outputs with types and dimensions, and leaves weights out", () => {
    const weights = { name: "w", dims: [2], data_type: 1, raw_data: new Uint8Array(8) };
    const { outline } = graphOf("outline", { inputs: ["x", "w"], initializers: [weights] });
    expect(outline).toEqual({
      inputs: [{ name: "x", elementType: 1, dims: ["batch", 2] }],
      outputs: [{ name: "y", elementType: 1, dims: ["batch", 2] }],
      metadata: {},
      externalTensors: [],
      branchConstants: {},
    });
  });

  test("finds weights in other files, those of constants and inner graphs too", () => {
    const inner = { name: "inner", initializer: [externalTensor("deep", "deep.data", 16)] };
    const branch = { output: ["c"], op_type: "If", attribute: [{ name: "g", g: inner, type: 5 }] };
    const constant = {
      output: ["d"],
      op_type: "Constant",
      attribute: [{ name: "value", t: externalTensor("value", "constants.data"), type: 4 }],
    };
    const { outline } = graphOf("external", {
      initializers: [externalTensor("w", "w.data")],
      nodes: [branch, constant],
    });
    const places = outline.externalTensors.map(({ name, location }) => `${name} in ${location}`);
    expect(new Set(places)).toEqual(
      new Set(["w in w.data", "deep in deep.data", "value in constants.data"]),
    );
  });

  test("says of the constants of branches what shape they have", () => {
    const weights = { name: "", dims: [512, 8], data_type: 1, raw_data: new Uint8Array(16_384) };
    const node = (output: string) => ({
      output: [output],
      op_type: "Constant",
      attribute: [{ name: "value", t: weights, type: 4 }],
    });
    const branch = { name: "small", node: [node("cos_cache_small")] };
    const condition = {
      output: ["c"],
      op_type: "If",
      attribute: [{ name: "g", g: branch, type: 5 }],
    };
    const { outline } = graphOf("branches", { nodes: [condition, node("outside")] });
    expect(outline.branchConstants).toEqual({ cos_cache_small: [512, 8] });
  });

  test.each([
    ["text", "this is no protobuf at all", /is not an ONNX file/],
    ["lfs", "version https://git-lfs.github.com/spec/v1\noid sha256:0\n", /Git LFS pointer/],
    ["empty", "", /it holds no graph/],
  ])("refuses a file that is none: %s", (name, text, sentence) => {
    const path = join(folders.root, `${name}.onnx`);
    writeFileSync(path, text);
    expect(() => readOnnxOutline(path)).toThrow(sentence);
  });
});

test("a damaged file gives an error message or an outline, never a crash", () => {
  const path = join(folders.root, "damaged.onnx");
  writeOnnx(path, { initializers: [externalTensor("w", "w.data")] });
  const whole = readFileSync(path);
  const damage = record({ end: nat(whole.length), at: nat(whole.length - 1), byte: nat(255) });
  const outcome = property(damage, ({ end, at, byte }) => {
    const bytes = Buffer.from(whole);
    bytes[at] = byte;
    writeFileSync(path, bytes.subarray(0, end));
    try {
      return Array.isArray(readOnnxOutline(path).inputs);
    } catch (thrown) {
      return String(thrown).includes("damaged.onnx is not an ONNX file");
    }
  });
  expect(check(outcome, { numRuns: 300 })).toMatchObject({ failed: false });
});

describe("weights beside a graph", () => {
  test.each(["../w.data", "/etc/passwd", "sub/w.data", "..\\w.data", "C:w.data", "", ".."])(
    "must not lie at %j",
    async (location) => {
      const graph = graphOf("outside", { initializers: [externalTensor("w", location)] });
      await expect(checkExternalData(graph, locate)).rejects.toThrow(
        `the graph decoder (outside.onnx) keeps the tensor w in ${JSON.stringify(location)}`,
      );
    },
  );

  test("are named, with graph and tensor, where the file is missing or ends too early", async () => {
    const graph = graphOf("short", { initializers: [externalTensor("w", "short.data", 4)] });
    await expect(checkExternalData(graph, locate)).rejects.toThrow(
      "the graph decoder (short.onnx) keeps the tensor w in short.data, which is missing",
    );
    writeFileSync(join(folders.root, "short.data"), new Uint8Array(8));
    await expect(checkExternalData(graph, locate)).rejects.toThrow(
      "keeps the tensor w in short.data up to byte 12, but the file ends at 8",
    );
    writeFileSync(join(folders.root, "short.data"), new Uint8Array(12));
    await expect(checkExternalData(graph, locate)).resolves.toBeUndefined();
  });
});

test("a graph that lacks a tensor of its role is refused by the tensor's name and what it has", () => {
  const graph = graphOf("roles", { inputs: ["input_ids"], outputs: ["last_hidden_state"] });
  const required = {
    inputs: [["input_ids"], ["past_key_values.*", "past_*"]],
    outputs: [["logits"]],
  };
  expect(() => checkTensors(graph, required)).toThrow(
    "the graph decoder (roles.onnx) has no input past_key_values.* or past_*: its inputs are input_ids",
  );
  expect(() => checkTensors(graph, { inputs: [], outputs: required.outputs })).toThrow(
    "has no output logits: its outputs are last_hidden_state",
  );
});

test.each([
  [{ operator: "Frobnicate" }, "uses the operator Frobnicate, which"],
  [{ operator: "Foo", domain: "com.acme" }, "uses the operator com.acme:Foo, which"],
  [{ opset: 99 }, "is of version 99, which is newer"],
])("what ONNX Runtime says of %j becomes a sentence", async (graph, sentence) => {
  const path = join(folders.root, "refused.onnx");
  writeOnnx(path, graph);
  const setup = { graphs: { decoder: path }, threads: 1, providers: ["cpu"] };
  const failure = await openGraphs(setup).catch((thrown: unknown) => thrown);
  expect(explainOpenFailure("decoder", String(failure))).toContain(sentence);
});
