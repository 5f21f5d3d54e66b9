import { z } from "zod";
import type { ModelFolder } from "./model-folder.js";

/** What a layout's recogniser found: model.json without hashes, licence and source. */
export interface Recognised {
  readonly modality: string;
  readonly pipeline: string;
  /** Role → path in the folder. Weights beside a graph are found later, from the graph itself. */
  readonly files: Readonly<Record<string, string>>;
  /** Jobs the pipeline runs at once; 1 by default. */
  readonly concurrency?: number;
  /** Jobs taken beside each of those; none by default. */
  readonly ahead?: number;
  /** `own` for a light model, whose jobs wait for no other model's. */
  readonly slot?: "own";
  readonly shapes?: Readonly<Record<string, unknown>>;
  /** Steps and guidance that model.json states, for its user to change. */
  readonly sampler?: Readonly<Record<string, unknown>>;
  readonly limits?: Readonly<Record<string, number>>;
  /** What was decided for want of a file that says it, or may surprise. */
  readonly notes?: readonly Note[];
}

/** A sentence for whoever adds a model. */
export interface Note {
  readonly text: string;
  /** Whether answers may be wrong for it. */
  readonly isWarning?: true;
}

export interface LayoutWishes {
  /** Modality to take the folder as, where its files leave that open. */
  readonly modality?: string;
  /** How an embedder's token vectors become one: `mean`, `cls` or `last`. */
  readonly pooling?: string;
}

/** One way in which models are published. */
export interface Layout {
  /** For people: what its folder holds. */
  readonly lookedFor: string;
  /** Undefined where the folder is of another layout; throws where it is this one and unusable. */
  recognise(folder: ModelFolder, wishes: LayoutWishes): Promise<Recognised | undefined>;
}

/** Outputs of a text encoder that pools in its graph. */
export const POOLED_OUTPUTS: ReadonlySet<string> = new Set([
  "sentence_embedding",
  "text_embeds",
  "dense_vecs",
]);

/** Outputs by which an embedder is known, the pooled one first. */
export const EMBEDDING_OUTPUTS: ReadonlySet<string> = new Set([
  "sentence_embedding",
  "token_embeddings",
  "last_hidden_state",
]);

type Files = Readonly<Record<string, string | undefined>>;

/** The roles that have a file. */
export function present(files: Files): Record<string, string> {
  return Object.fromEntries(
    Object.entries(files).flatMap(([role, path]) => (path === undefined ? [] : [[role, path]])),
  );
}

/** The values that are known. */
export function known<T>(values: Readonly<Record<string, T | undefined>>): Record<string, T> {
  return Object.fromEntries(
    Object.entries(values).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  );
}

/** Path of a file that a layout cannot do without. `why` ends the sentence. */
export function requireFile(folder: ModelFolder, path: string, why: string): string {
  if (folder.has(path)) return path;
  throw new Error(`${folder.name} has no ${path}: ${why}`);
}

/** Path of a graph that a layout cannot do without. */
export function requireGraph(folder: ModelFolder, ...bases: readonly string[]): string {
  const path = folder.findGraph(...bases);
  if (path !== undefined) return path;
  const names = bases.map((base) => (base.includes("/") ? `${base}.onnx` : `onnx/${base}.onnx`));
  throw new Error(`${folder.name} has no ${names.join(" or ")}, in any dtype`);
}

/** Graphs of a decoder that caches: merged, or one for the first step and one for the others. */
export function decoderFiles(folder: ModelFolder): Readonly<Record<string, string>> {
  const merged = folder.findGraph("decoder_model_merged");
  if (merged !== undefined) return { "decoder-merged": merged };
  return {
    decoder: requireGraph(folder, "decoder_model"),
    "decoder-with-past": requireGraph(folder, "decoder_with_past_model"),
  };
}

const TOKENIZER = "save the model with its fast tokenizer (AutoTokenizer.save_pretrained)";

/** tokenizer.json and its settings, by role. */
export function tokenizerFiles(folder: ModelFolder): Files {
  return {
    tokenizer: requireFile(folder, "tokenizer.json", TOKENIZER),
    "tokenizer-config": folder.find("tokenizer_config.json"),
  };
}

/** What no usable limit exceeds: transformers writes 1e30 for "none". */
const NO_LIMIT = 1e9;

/** The smallest of the limits that are stated. */
export function smallest(...limits: readonly (number | null | undefined)[]): number | undefined {
  const stated = limits.filter(
    (limit) => typeof limit === "number" && limit > 0 && limit < NO_LIMIT,
  );
  return stated.length === 0 ? undefined : Math.floor(Math.min(...stated.map(Number)));
}

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
  _name_or_path: z.string().nullish().catch(null),
  use_bidirectional_attention: z.unknown().optional(),
  is_causal: z.unknown().optional(),
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
