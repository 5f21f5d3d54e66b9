import { addModel } from "#framemill/models/add-model.js";
import type { ModelPackage } from "#framemill/runtime/packages/model-package.js";
import { openTextEngine, type TextEngine } from "#framemill/models/decoder/open.js";
import type { GraphRun } from "#framemill/core/modality.js";
import { writeGroupedAttentionGraph } from "./grouped-attention-graph.js";
import { createModelFolders, type ModelFiles } from "./model-folders.js";
import { BYTES, PIECES } from "./tiny-decoder.js";
import type { TinyDecoder } from "./tiny-decoder-graph.js";

/** A decoder as optimum exports it today. */
export const OPTIMUM: TinyDecoder = { vocabulary: PIECES, path: "onnx/model.onnx" };

/** A decoder as ONNX Runtime GenAI's builder made it at first: it reads no prompt in parts. */
export const GENAI: TinyDecoder = {
  vocabulary: PIECES,
  path: "model.onnx",
  dataFile: "model.onnx.data",
  type: "float16",
  isGenai: true,
};

/** A decoder as optimum merged two graphs into one before 1.14. */
export const MERGED: TinyDecoder = {
  vocabulary: BYTES,
  path: "onnx/decoder_model_merged.onnx",
  isMerged: true,
};

/** A decoder around GroupQueryAttention, whose vocabulary has more ids than its tokenizer. */
export const GROUPED: ModelFiles = {
  "config.json": { architectures: ["LlamaForCausalLM"], max_position_embeddings: 512 },
  "tokenizer.json": BYTES.json,
  "tokenizer_config.json": { bos_token: "</s>" },
  "onnx/model.onnx": { write: writeGroupedAttentionGraph },
};

/** Engines on made-up models below one temporary folder. */
export function createTextEngines() {
  const folders = createModelFolders();
  const engines: TextEngine[] = [];
  const runs: GraphRun[] = [];
  let added = 0;
  return {
    /** Runs of all graphs so far. */
    runs,
    add(files: ModelFiles, dtype?: string): Promise<ModelPackage> {
      const source = folders.write(`source-${(added += 1)}`, files);
      const { modelsDir } = folders;
      return addModel(source, { modelsDir, id: `model-${added}`, ...(dtype && { dtype }) });
    },
    /** `promptCacheBytes`: what is remembered of prompts; nothing where absent. */
    async open(model: ModelPackage, promptCacheBytes = 0): Promise<TextEngine> {
      const onRun = (run: GraphRun) => runs.push(run);
      const engine = await openTextEngine(model, { threads: 1, promptCacheBytes, onRun });
      engines.push(engine);
      return engine;
    },
    async close() {
      for (const engine of engines) await engine.close();
      folders.remove();
    },
  };
}
