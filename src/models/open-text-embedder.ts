import type { ModelPackage } from "../runtime/packages/model-package.js";
import { openEncoderEmbedder } from "./encoder/encoder-embedder.js";
import type { EncoderSetup } from "./encoder/open.js";
import { openStaticEmbedder } from "./model2vec/open.js";
import type { TextEmbedder } from "./encoder/text-embedder.js";

/** Opens a package by its pipeline: `encoder` or `model2vec`. */
export async function openTextEmbedder(
  model: ModelPackage,
  setup: EncoderSetup,
): Promise<TextEmbedder> {
  if (model.pipeline === "model2vec") return openStaticEmbedder(model);
  if (model.pipeline === "encoder") return openEncoderEmbedder(model, setup);
  throw new Error(
    `${model.path}: embeddings run by encoder or model2vec, not by ${model.pipeline}`,
  );
}
