import { z } from "zod";
import { openPeerLibrary } from "./peer-library.js";

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
