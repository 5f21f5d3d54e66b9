import { z } from "zod";
import { smallest } from "./layout.js";
import type { ModelFolder } from "./model-folder.js";

const sizes = z.object({
  max_position_embeddings: z.number().nullish(),
  n_positions: z.number().nullish(),
  max_sequence_length: z.number().nullish(),
  hidden_size: z.number().nullish(),
  dim: z.number().nullish(),
  d_model: z.number().nullish(),
});

/** The fields of a transformers config.json that tell what the model is. */
const modelConfig = sizes.extend({
  model_type: z.string().nullish(),
  architectures: z.array(z.string()).nullish(),
  pad_token_id: z.number().nullish(),
  text_config: sizes.nullish(),
  id2label: z.record(z.string(), z.string()).nullish(),
  num_labels: z.number().nullish(),
  problem_type: z.string().nullish(),
});

export type ModelConfig = z.infer<typeof modelConfig>;

const tokenizerConfig = z.object({ model_max_length: z.number().nullish() });

export function readModelConfig(folder: ModelFolder): Promise<ModelConfig | undefined> {
  return folder.readJson("config.json", modelConfig);
}

/** RoBERTa's positions start behind the padding id, so that two of its 514 are never used. */
const OFFSET_POSITIONS = /^(roberta|xlm-roberta|xlm-roberta-xl|camembert|mpnet|longformer)$/;

/** Tokens a sequence may have: the least that the model and its tokenizer state. */
export async function tokenLimit(
  folder: ModelFolder,
  config: ModelConfig,
  ...further: readonly (number | null | undefined)[]
): Promise<number | undefined> {
  const tokenizer = await folder.readJson("tokenizer_config.json", tokenizerConfig);
  const of = (part: z.infer<typeof sizes> | null | undefined) =>
    part?.max_position_embeddings ?? part?.n_positions ?? part?.max_sequence_length;
  const positions = of(config) ?? of(config.text_config);
  const unused = OFFSET_POSITIONS.test(config.model_type ?? "")
    ? (config.pad_token_id ?? 1) + 1
    : 0;
  const usable = typeof positions === "number" ? positions - unused : undefined;
  return smallest(usable, tokenizer?.model_max_length, ...further);
}

/** modules.json of sentence-transformers: the stages from tokens to a vector. */
export const modulesList = z.array(z.object({ path: z.string(), type: z.string() }));

/** Requests whose texts a pipeline batches together. */
export const TEXT_CONCURRENCY = 32;
