import { z } from "zod";
import { openPeerLibrary } from "./peer-library.js";

/** The same folder in transformers.js: `generate`, as its users write it. */
export interface PeerWriter {
  /** Writes greedily; the number of tokens is fixed. */
  write(prompt: string, tokens: number): Promise<void>;
  /** What its sampler does with logits where no top-k is set: sorts all, softmax, draws. */
  sample(logits: Float32Array): Promise<void>;
  close(): Promise<void>;
}

type Call = (...args: unknown[]) => unknown;
const callable = z.custom<Call>((value) => typeof value === "function");
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
