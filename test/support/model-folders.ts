import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { type TestGraph, writeOnnx } from "./onnx.js";

/** What writes its own file, as a `Graph` does. */
interface WritesItself {
  write(path: string): void;
}

/** A file of a made-up model: text, bytes, a graph, or anything else as JSON. */
export type Content = string | Uint8Array | { readonly graph: TestGraph } | WritesItself | object;

export type ModelFiles = Readonly<Record<string, Content>>;

/** Folders of made-up models below one temporary folder. */
export function createModelFolders() {
  const root = mkdtempSync(join(tmpdir(), "framemill-models-"));
  return {
    root,
    modelsDir: join(root, "models"),
    write(name: string, files: ModelFiles): string {
      const folder = join(root, name);
      for (const [path, content] of Object.entries(files)) writeFile(join(folder, path), content);
      return folder;
    },
    remove: () => rmSync(root, { recursive: true, force: true }),
  };
}

function writeFile(path: string, content: Content): void {
  mkdirSync(dirname(path), { recursive: true });
  if (typeof content === "string" || content instanceof Uint8Array) writeFileSync(path, content);
  else if ("graph" in content) writeOnnx(path, content.graph);
  else if (writesItself(content)) content.write(path);
  else writeFileSync(path, JSON.stringify(content));
}

function writesItself(content: object): content is WritesItself {
  return "write" in content && typeof content.write === "function";
}

const cache = ["past_key_values.0.key", "past_key_values.0.value"];
const present = ["present.0.key", "present.0.value"];

/** The graph of a causal language model with one layer. */
export const CAUSAL: TestGraph = {
  inputs: ["input_ids", "attention_mask", ...cache],
  outputs: ["logits", ...present],
};

/** A language model in the optimum layout. */
export const CHAT_FILES: ModelFiles = {
  "config.json": {
    architectures: ["LlamaForCausalLM"],
    model_type: "llama",
    max_position_embeddings: 64,
  },
  "tokenizer.json": {},
  "onnx/model.onnx": { graph: CAUSAL },
};
