import { z } from "zod";
import { type ModelPackage, readModelJson } from "../../runtime/packages/model-package.js";
import type { TextTokenizer } from "../tokenizer/text-tokenizer.js";
import type { Pooling } from "./pooling.js";

const optionalCount = z.int().positive().nullish().catch(null);

/** What is read of a transformers config.json. */
const encoderConfig = z.object({
  model_type: z.string().default(""),
  max_position_embeddings: optionalCount,
  pad_token_id: z.int().nonnegative().nullish().catch(null),
  vocab_size: optionalCount,
  seq_length: optionalCount,
  normalize: z.boolean().nullish(),
  problem_type: z.string().nullish(),
  id2label: z.record(z.string(), z.string()).nullish(),
});

export type EncoderConfig = z.infer<typeof encoderConfig>;

export function readEncoderConfig(model: ModelPackage): Promise<EncoderConfig> {
  return readModelJson(model, "config", encoderConfig);
}

const sentenceConfig = z.object({ max_seq_length: optionalCount });

/** Position tables of these begin after the padding's own place (fairseq's convention). */
const OFFSET_POSITIONS = /roberta|camembert|mpnet|xmod|data2vec-text|longformer|ibert/;
const DEFAULT_MAX_TOKENS = 8_192;

/** Most tokens of one text, special ones included: the least of what the package's files say. */
export async function readMaxTokens(
  model: ModelPackage,
  known: {
    readonly config: EncoderConfig;
    readonly tokenizer: TextTokenizer;
    readonly graphLength: number | undefined;
  },
): Promise<number> {
  const { config, tokenizer, graphLength } = known;
  const sentence = await readModelJson(model, "sentence-config", sentenceConfig, {});
  const bounds = [
    model.limits.contextTokens,
    sentence.max_seq_length,
    tokenizer.maxTokens,
    positionsOf(config),
    graphLength,
  ].filter((bound) => typeof bound === "number");
  return bounds.length === 0 ? DEFAULT_MAX_TOKENS : Math.min(...bounds);
}

function positionsOf(config: EncoderConfig): number | undefined {
  const { max_position_embeddings: positions, model_type: type, pad_token_id: pad } = config;
  if (typeof positions !== "number") return undefined;
  return OFFSET_POSITIONS.test(type) ? positions - (pad ?? 1) - 1 : positions;
}

/** Most rows × tokens of a batch: `execution.maxBatchTokens` of model.json, else by its devices. */
export function maxPaddedTokens({ execution }: ModelPackage): number {
  const given = z.int().positive().optional().parse(execution["maxBatchTokens"]);
  return given ?? (execution.providers.every((provider) => provider === "cpu") ? 1_024 : 32_768);
}

const poolingFlags = {
  pooling_mode_cls_token: "cls",
  pooling_mode_mean_tokens: "mean",
  pooling_mode_lasttoken: "last",
  pooling_mode_max_tokens: "max",
  pooling_mode_mean_sqrt_len_tokens: "mean-sqrt-length",
} as const satisfies Record<string, Pooling>;
const otherPooling = "pooling_mode_weightedmean_tokens";

const modules = z.array(z.object({ type: z.string() }));
const flags = z.record(z.string(), z.unknown());

export interface PoolingSettings {
  readonly pooling: Pooling;
  readonly normalises: boolean;
  /** Modules after the pooling that only a graph with its own pooled output can hold, e.g. `Dense`. */
  readonly furtherModules: readonly string[];
}

/** From 1_Pooling/config.json and modules.json; mean and unit length where a package has neither. */
export async function readPoolingSettings(model: ModelPackage): Promise<PoolingSettings> {
  const pooling =
    "pooling-config" in model.files
      ? parsePooling(await readModelJson(model, "pooling-config", z.unknown()), model.path)
      : "mean";
  if (!("modules" in model.files)) return { pooling, normalises: true, furtherModules: [] };
  const listed = await readModelJson(model, "modules", modules);
  const types = listed.map(({ type }) => type.split(".").at(-1) ?? "");
  const ordinary = new Set(["Transformer", "Pooling", "Normalize", "StaticEmbedding"]);
  return {
    pooling,
    normalises: types.includes("Normalize"),
    furtherModules: types.filter((type) => !ordinary.has(type)),
  };
}

/** Throws where the file asks for a pooling that is not done here, or for several side by side. */
export function parsePooling(config: unknown, what: string): Pooling {
  const parsed = flags.parse(config);
  const asked = [...Object.keys(poolingFlags), otherPooling].filter(
    (flag) => parsed[flag] === true,
  );
  const found = Object.entries(poolingFlags).find(([flag]) => flag === asked[0])?.[1];
  if (asked.length === 1 && found !== undefined) return found;
  const list = Object.keys(poolingFlags).join(", ");
  throw new Error(`${what}: pooling must be one of ${list}, got ${asked.join(" and ") || "none"}`);
}
