import { z } from "zod";
import {
  EMBEDDING_OUTPUTS,
  known,
  type Layout,
  present,
  readModelConfig,
  requireFile,
  requireGraph,
  smallest,
  tokenizerFiles,
  tokenLimit,
} from "../../runtime/packages/layout.js";
import type { ModelFolder } from "../../runtime/packages/model-folder.js";

/** Sequences that are decoded together. */
const CONCURRENCY = 32;

const genaiConfig = z.object({
  model: z.object({
    type: z.string(),
    context_length: z.number().optional(),
    decoder: z
      .object({ filename: z.string().optional(), pipeline: z.unknown().optional() })
      .optional(),
    encoder: z.unknown().optional(),
    vision: z.unknown().optional(),
    speech: z.unknown().optional(),
  }),
});

/** ONNX Runtime GenAI: one folder with genai_config.json. */
export const genaiDecoder: Layout = {
  lookedFor: "genai_config.json (ONNX Runtime GenAI)",
  async recognise(folder) {
    const config = await folder.readJson("genai_config.json", genaiConfig);
    if (config === undefined) return undefined;
    const { model } = config;
    const parts = (["encoder", "vision", "speech"] as const).filter((part) => model[part]);
    if (model.decoder?.pipeline !== undefined) parts.unshift("encoder");
    const decoder = model.decoder?.filename;
    if (parts.length > 0 || decoder === undefined)
      throw new Error(
        `${folder.name} is a ${model.type} of ONNX Runtime GenAI in several graphs: only its single-graph text decoders are served; take the optimum export (config.json and onnx/) instead`,
      );
    return chat(folder, {
      decoder: requireFile(folder, decoder, "genai_config.json names it as the decoder"),
      config: "genai_config.json",
      contextTokens: smallest(model.context_length),
    });
  },
};

/** Optimum and onnx-community: config.json of a causal language model and its graph. */
export const optimumDecoder: Layout = {
  lookedFor: "config.json of a …ForCausalLM with onnx/model.onnx",
  async recognise(folder) {
    const config = await readModelConfig(folder);
    const isCausal = config?.architectures?.some((name) => /(ForCausalLM|LMHeadModel)$/.test(name));
    if (config === undefined || !isCausal) return undefined;
    const decoder = requireGraph(folder, "model", "decoder_model_merged");
    // Qwen3-Embedding and its kin: a causal architecture whose graph ends before the vocabulary.
    const outputs = folder.outline(decoder).outputs.map(({ name }) => name);
    if (!outputs.includes("logits") && outputs.some((name) => EMBEDDING_OUTPUTS.has(name)))
      return undefined;
    const contextTokens = await tokenLimit(folder, config);
    return chat(folder, { decoder, config: "config.json", contextTokens });
  },
};

interface ChatFiles {
  readonly decoder: string;
  readonly config: string;
  readonly contextTokens: number | undefined;
}

function chat(folder: ModelFolder, { decoder, config, contextTokens }: ChatFiles) {
  const files = present({
    decoder,
    config,
    "generation-config": folder.find("generation_config.json"),
    ...tokenizerFiles(folder),
    "chat-template": folder.find("chat_template.jinja", "chat_template.json"),
  });
  const limits = known({ contextTokens });
  return {
    modality: "chat",
    pipeline: "decoder-text",
    files,
    concurrency: CONCURRENCY,
    limits,
  };
}
