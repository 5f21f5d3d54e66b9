import { existsSync, mkdirSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { addModel } from "#framemill/models/add-model.js";
import { loadModelPackage, verifyModelPackage } from "#framemill/runtime/packages/model-package.js";
import { CAUSAL, CHAT_FILES, createModelFolders } from "../../support/model-folders.js";
import { externalTensor } from "../../support/onnx.js";

const folders = createModelFolders();
const { modelsDir } = folders;
afterAll(() => folders.remove());

const withData = (file: string) => ({
  graph: { ...CAUSAL, initializers: [externalTensor("w", file)] },
});

test("copies what the pipeline reads, weights and licence too, and nothing else", async () => {
  const source = folders.write("My Model", {
    ...CHAT_FILES,
    "onnx/model.onnx": withData("model.onnx_data"),
    "onnx/model.onnx_data": new Uint8Array(8),
    LICENSE: "MIT License",
    "pytorch_model.bin": "weights of another framework",
  });
  const model = await addModel(source, { modelsDir });
  expect(model).toMatchObject({ id: "My-Model", licence: "MIT", source: "added from My Model" });
  expect(Object.keys(model.files)).toEqual(["decoder", "config", "tokenizer", "decoder-data"]);
  await verifyModelPackage(model);
  expect(readdirSync(model.path).toSorted()).toEqual(
    ["LICENSE", "config.json", "model.json", "onnx", "tokenizer.json"].toSorted(),
  );
  expect(readFileSync(join(model.path, "model.json"), "utf8")).not.toContain(folders.root);
});

test("takes the plain graphs, or the form that is asked for, or says which there are", async () => {
  const forms = {
    "onnx/model_q4.onnx": { graph: CAUSAL },
    "onnx/model_quantized.onnx": { graph: CAUSAL },
  };
  const source = folders.write("forms", { ...CHAT_FILES, ...forms });
  const pathOf = async (id: string, dtype?: string) => {
    const model = await addModel(source, { modelsDir, id, ...(dtype !== undefined && { dtype }) });
    return model.files["decoder"]?.path;
  };
  expect(await pathOf("plain")).toBe("onnx/model.onnx");
  expect(await pathOf("q4", "q4")).toBe("onnx/model_q4.onnx");
  expect(await pathOf("q8", "q8")).toBe("onnx/model_quantized.onnx");
  await expect(pathOf("fp16", "fp16")).rejects.toThrow("no graph is there as fp16");
  await expect(pathOf("f4", "float4")).rejects.toThrow("dtype must be one of fp32, fp16, q8");
});

test("merges further folders, with their licence texts in a folder of their own", async () => {
  const source = folders.write("bare", { ...CHAT_FILES, LICENSE: "MIT License" });
  const extra = folders.write("extras", {
    "chat_template.jinja": "{{ messages }}",
    "config.json": { architectures: ["Other"] },
    LICENSE: "Apache License Version 2.0",
  });
  const model = await addModel(source, { modelsDir, id: "merged", extra: [extra] });
  expect(model.files["chat-template"]?.path).toBe("chat_template.jinja");
  expect(model.licence).toBe("MIT");
  expect(readFileSync(join(model.path, "extras", "LICENSE"), "utf8")).toContain("Apache");
  const config = readFileSync(join(model.path, "config.json"), "utf8");
  expect(config).toContain("LlamaForCausalLM");
});

test("writes model.json in place for a folder of the models folder", async () => {
  folders.write("models/local", CHAT_FILES);
  const path = join(modelsDir, "local");
  expect((await addModel(path, { modelsDir })).path).toBe(path);
  expect(await loadModelPackage(path)).toMatchObject({ id: "local", modality: "chat" });
  await expect(addModel(path, { modelsDir })).rejects.toThrow("model.json exists");
});

test("refuses an id that is taken or would leave the folder", async () => {
  const source = folders.write("taken", CHAT_FILES);
  mkdirSync(join(modelsDir, "taken"), { recursive: true });
  await expect(addModel(source, { modelsDir })).rejects.toThrow("has a model taken already");
  await expect(addModel(source, { modelsDir, id: "../out" })).rejects.toThrow(
    "the id must be letters",
  );
});

test("leaves nothing of a package that fails", async () => {
  const source = folders.write("failing", CHAT_FILES);
  const before = readdirSync(modelsDir).toSorted();
  const verify = async (model: { readonly path: string }) => {
    expect(existsSync(join(model.path, "model.json"))).toBe(true);
    throw new Error("the canary failed");
  };
  await expect(addModel(source, { modelsDir, verify })).rejects.toThrow("the canary failed");
  expect(readdirSync(modelsDir).toSorted()).toEqual(before);

  folders.write("models/in-place", CHAT_FILES);
  const path = join(modelsDir, "in-place");
  const extra = [folders.write("template", { "chat_template.jinja": "{{ messages }}" })];
  await expect(addModel(path, { modelsDir, extra, verify })).rejects.toThrow("the canary failed");
  expect(readdirSync(path).toSorted()).toEqual(["config.json", "onnx", "tokenizer.json"]);
});

test("refuses an empty file by name", async () => {
  const source = folders.write("empty", { ...CHAT_FILES, "chat_template.jinja": "" });
  await expect(addModel(source, { modelsDir })).rejects.toThrow(
    "empty/chat_template.jinja is empty",
  );
});

test("names graph, tensor and path of weights outside the folder before it copies anything", async () => {
  const source = folders.write("escaping", {
    ...CHAT_FILES,
    "onnx/model.onnx": withData("../../secret"),
  });
  await expect(addModel(source, { modelsDir })).rejects.toThrow(
    'the graph decoder (onnx/model.onnx) keeps the tensor w in "../../secret"',
  );
  expect(existsSync(join(modelsDir, "escaping"))).toBe(false);
});
