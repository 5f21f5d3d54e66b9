import { existsSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { z } from "zod";
import type { Config } from "../../../src/config.js";
import { addModel } from "../../../src/models/add-model.js";
import {
  listModelPackages,
  type ModelPackage,
} from "../../../src/runtime/packages/model-package.js";
import { withTemporaryFolder } from "../temporary-folder.js";

/** Named at run time: a development dependency that no service loads. */
const PEER = "@huggingface/transformers";

type Call = (...args: unknown[]) => unknown;
const anything = z.custom<Record<string, unknown>>((value) => typeof value === "object");
const callable = z.custom<Call>((value) => typeof value === "function");

/** What calls of transformers.js can be made of its exports, checked where they are used. */
export interface PeerLibrary {
  /** Calls an export, or its `from_pretrained` where it has one, on the folder's files as float32. */
  open(name: string, ...first: readonly unknown[]): Promise<unknown>;
  /** An export as it is. */
  find(name: string): unknown;
}

/**
 * transformers.js with its own settings, bound to one folder of this machine. Throws a sentence where it
 * is not installed.
 */
export async function openPeerLibrary(modelPath: string): Promise<PeerLibrary> {
  const library = anything.parse(await importPeer());
  const env = anything.parse(library["env"]);
  env["allowRemoteModels"] = false;
  env["localModelPath"] = dirname(modelPath);
  const options = { dtype: "fp32" };
  return {
    find: (name) => library[name],
    async open(name, ...first) {
      const member = callable.parse(library[name]);
      const make = "from_pretrained" in member ? callable.parse(member.from_pretrained) : member;
      return await make.call(member, ...first, basename(modelPath), options);
    },
  };
}

async function importPeer(): Promise<unknown> {
  try {
    return await import(PEER);
  } catch (cause) {
    throw new Error(`${PEER} is not installed: run npm ci with the development dependencies`, {
      cause,
    });
  }
}

/** The same folder in transformers.js: `generate`, as its users write it. */
export interface PeerWriter {
  /** Writes greedily; the number of tokens is fixed. */
  write(prompt: string, tokens: number): Promise<void>;
  /** What its sampler does with logits where no top-k is set: sorts all, softmax, draws. */
  sample(logits: Float32Array): Promise<void>;
  close(): Promise<void>;
}

const tensorClass = z.custom<new (...args: unknown[]) => object>(
  (value) => typeof value === "function",
);
const causalModel = z.custom<{ generate: Call; dispose: Call }>(
  (value) => typeof value === "object" || typeof value === "function",
);
const inputs = z.record(z.string(), z.unknown());
const sorted = z.tuple([z.object({ data: z.instanceof(Float32Array) }), z.unknown()]);

/** Opens config.json, tokenizer.json and onnx/model.onnx of a folder. */
export async function openPeerWriter(modelPath: string): Promise<PeerWriter> {
  const library = await openPeerLibrary(modelPath);
  const tokenize = callable.parse(await library.open("AutoTokenizer"));
  const model = causalModel.parse(await library.open("AutoModelForCausalLM"));
  const PeerTensor = tensorClass.parse(library.find("Tensor"));
  const topk = callable.parse(library.find("topk"));
  const softmax = callable.parse(library.find("softmax"));
  return {
    async write(prompt, tokens) {
      const length = { min_new_tokens: tokens, max_new_tokens: tokens, do_sample: false };
      await model.generate({ ...inputs.parse(tokenize(prompt)), ...length });
    },
    async sample(logits) {
      const tensor = new PeerTensor("float32", logits, [1, logits.length]);
      const [values] = sorted.parse(await topk(tensor, logits.length));
      softmax(values.data);
    },
    async close() {
      await model.dispose();
    },
  };
}

/** The same folder in transformers.js: a call for each text, as its users write it. */
export interface PeerEmbedder {
  /** Mean of the tokens, of unit length. */
  embed(text: string): Promise<Float32Array>;
  close(): Promise<void>;
}

const extractor = z.custom<
  ((text: string, options: object) => Promise<unknown>) & { dispose(): Promise<void> }
>((value) => typeof value === "function");
const tensor = z.object({ data: z.instanceof(Float32Array) });

/** Opens config.json, tokenizer.json and onnx/model.onnx of a folder. */
export async function openPeerEmbedder(modelPath: string): Promise<PeerEmbedder> {
  const library = await openPeerLibrary(modelPath);
  const run = extractor.parse(await library.open("pipeline", "feature-extraction"));
  return {
    async embed(text) {
      return tensor.parse(await run(text, { pooling: "mean", normalize: true })).data;
    },
    close: () => run.dispose(),
  };
}

/** Runs with packages made of these published models as the only ones, or with the configuration's own. */
export async function withPeerModels<T>(
  config: Config,
  folders: readonly string[] = [],
  use: (config: Config) => Promise<T>,
): Promise<T> {
  if (folders.length === 0) return await use(config);
  return await withTemporaryFolder(async (modelsDir) => {
    for (const folder of folders) await addModel(folder, { modelsDir });
    return await use({ ...config, modelsDir });
  });
}

/** The packages whose files lie where transformers.js looks for them. */
export async function listPeerPackages(modelsDir: string): Promise<ModelPackage[]> {
  const packages = await listModelPackages(modelsDir);
  return packages.filter(({ path }) => existsSync(join(path, "onnx", "model.onnx")));
}
