import { z } from "zod";
import { type ModelPackage, readModelJson } from "../../runtime/packages/model-package.js";
import type { TextTokenizer } from "../tokenizer/text-tokenizer.js";

/** What an engine must know of a model beside its graph. */
export interface DecoderConfig {
  /** Tokens that end an answer. */
  readonly stopTokenIds: readonly number[];
  /** Tokens of prompt and answer together. */
  readonly contextTokens: number;
  readonly repetitionPenalty: number;
  /** Position of the first token. */
  readonly firstPosition: 0 | 1;
  /** The graph's own names of tensors, where the configuration gives them. */
  readonly names: TensorNames;
  /** Of the caches' last axis, where the configuration says it. */
  readonly headSize?: number | undefined;
  /** Tokens that layers see whose caches have a length of their own, where there are such. */
  readonly slidingWindow?: number | undefined;
}

/** Names of inputs and outputs; cache names hold `%d` for the layer. */
export interface TensorNames {
  readonly inputs: Readonly<Record<string, string>>;
  readonly outputs: Readonly<Record<string, string>>;
}

const tokenIds = z
  .union([z.int(), z.array(z.int())])
  .nullish()
  .transform((ids) => [ids ?? []].flat());

const sizes = z.object({
  max_position_embeddings: z.number().nullish(),
  n_positions: z.number().nullish(),
  max_sequence_length: z.number().nullish(),
  seq_length: z.number().nullish(),
});

const rope = z.object({
  type: z.string().nullish(),
  rope_type: z.string().nullish(),
  original_max_position_embeddings: z.number().nullish(),
});

/** What a config.json says of positions beyond those that the model was first made for. */
export const ropeFields = z.object({
  original_max_position_embeddings: z.number().nullish(),
  rope_scaling: rope.nullish(),
  rope_parameters: rope.nullish(),
});

/**
 * Tokens up to which a model with LongRoPE may be served; undefined for any other. Past them it reads all
 * positions by other factors, and what a cache holds of the earlier ones was made by the first.
 */
export function longRopeWindow(config: z.infer<typeof ropeFields>): number | undefined {
  const scaling = config.rope_scaling ?? config.rope_parameters;
  const type = scaling?.rope_type ?? scaling?.type;
  if (type !== "longrope" && type !== "su") return undefined;
  return (
    scaling?.original_max_position_embeddings ??
    config.original_max_position_embeddings ??
    undefined
  );
}

/** Phi-3 and its kin of 128 000 tokens, whose window genai_config.json does not say. */
const GENAI_WINDOWS: Readonly<Record<string, number>> = {
  phi3: 4_096,
  phi3v: 4_096,
  phi3small: 8_192,
  phi4mm: 4_096,
  phimoe: 4_096,
};
const LONG_CONTEXT_TOKENS = 32_768;

/** As `longRopeWindow`, of ONNX Runtime GenAI. */
export function genaiWindow(type: string, contextTokens: number | undefined): number | undefined {
  return (contextTokens ?? 0) > LONG_CONTEXT_TOKENS ? GENAI_WINDOWS[type] : undefined;
}

/** transformers' config.json; multimodal models keep the decoder's part under `text_config`. */
const modelConfig = sizes.extend({
  ...ropeFields.shape,
  model_type: z.string().default(""),
  eos_token_id: tokenIds,
  text_config: sizes.extend({ eos_token_id: tokenIds }).optional(),
});

const generationConfig = z.object({
  eos_token_id: tokenIds,
  repetition_penalty: z.number().positive().nullish(),
});

/** genai_config.json of ONNX Runtime GenAI. */
const genaiConfig = z.object({
  model: z.object({
    type: z.string().default(""),
    context_length: z.number().optional(),
    eos_token_id: tokenIds,
    decoder: z.object({
      head_size: z.int().positive().optional(),
      sliding_window: z.object({ window_size: z.int().nullish() }).nullish(),
      inputs: z.record(z.string(), z.string()).default({}),
      outputs: z.record(z.string(), z.string()).default({}),
    }),
  }),
  search: z.object({ repetition_penalty: z.number().positive().optional() }).default({}),
});

/** Where a model says nothing of its length. */
const DEFAULT_CONTEXT_TOKENS = 2_048;

/** transformers.js starts these at 1, as their reference implementations do. */
const COUNT_FROM_ONE = new Set(["paligemma", "gemma3", "gemma3_text"]);

/** End an answer of gpt-oss, one with a call and one without; its GenAI exports state the latter alone. */
const CALL_ENDS = ["<|call|>", "<|return|>"];

/** Reads the package's configuration files. Throws an error that names the file at fault. */
export async function readDecoderConfig(
  model: ModelPackage,
  tokenizer: TextTokenizer,
): Promise<DecoderConfig> {
  const file = await readModelJson(model, "config", z.record(z.string(), z.unknown()));
  const generation = await readModelJson(model, "generation-config", generationConfig, {});
  const config =
    "model" in file
      ? fromGenai(await readModelJson(model, "config", genaiConfig))
      : fromTransformers(await readModelJson(model, "config", modelConfig));
  const declared = generation.eos_token_id.length > 0 ? generation.eos_token_id : config.eos;
  const own = [tokenizer.special.eos, ...CALL_ENDS.map((token) => tokenizer.idOf(token))];
  return {
    stopTokenIds: [...new Set([...declared, ...own.filter((id) => id !== undefined)])],
    contextTokens: Math.min(
      model.limits.contextTokens ?? config.contextTokens ?? DEFAULT_CONTEXT_TOKENS,
      config.window ?? Infinity,
    ),
    repetitionPenalty: generation.repetition_penalty ?? config.repetitionPenalty ?? 1,
    firstPosition: COUNT_FROM_ONE.has(config.type) ? 1 : 0,
    names: config.names,
    headSize: config.headSize,
    slidingWindow: config.slidingWindow,
  };
}

function fromGenai({ model, search }: z.infer<typeof genaiConfig>) {
  return {
    type: model.type,
    eos: model.eos_token_id,
    contextTokens: model.context_length,
    window: genaiWindow(model.type, model.context_length),
    repetitionPenalty: search.repetition_penalty,
    names: model.decoder,
    headSize: model.decoder.head_size,
    slidingWindow: model.decoder.sliding_window?.window_size ?? undefined,
  };
}

function fromTransformers(config: z.infer<typeof modelConfig>) {
  const { text_config: text } = config;
  return {
    type: config.model_type,
    eos: config.eos_token_id.length > 0 ? config.eos_token_id : (text?.eos_token_id ?? []),
    contextTokens: lengthOf(config) ?? (text && lengthOf(text)),
    window: longRopeWindow(config),
    repetitionPenalty: undefined,
    names: { inputs: {}, outputs: {} },
    headSize: undefined,
    slidingWindow: undefined,
  };
}

function lengthOf(config: z.infer<typeof sizes>): number | undefined {
  const { max_position_embeddings: positions, n_positions: older } = config;
  return positions ?? older ?? config.max_sequence_length ?? config.seq_length ?? undefined;
}
