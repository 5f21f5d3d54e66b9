import { z } from "zod";
import { type ModelPackage, readModelJson } from "../../runtime/packages/model-package.js";
import { parseSettings } from "../../runtime/packages/parse-settings.js";
import type { TextTokenizer } from "../tokenizer/text-tokenizer.js";

const optionalCount = z.int().positive().nullish().catch(null);

/** What is read of a transformers config.json. */
const encoderConfig = z.object({
  model_type: z.string().default(""),
  max_position_embeddings: optionalCount,
  pad_token_id: z.int().nonnegative().nullish().catch(null),
  vocab_size: optionalCount,
  seq_length: optionalCount,
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

/** How the vectors of a text's tokens become one. */
export type Pooling = "cls" | "mean" | "last" | "max" | "mean-sqrt-length";

/** `pooling_mode` of 1_Pooling/config.json, as sentence-transformers 6 writes it. */
const POOLING_MODES: Readonly<Record<string, Pooling>> = {
  cls: "cls",
  mean: "mean",
  lasttoken: "last",
  max: "max",
  mean_sqrt_len_tokens: "mean-sqrt-length",
};

/** The same as a flag for each mode, as versions before 6 wrote it. */
const POOLING_FLAGS: Readonly<Record<string, string>> = {
  pooling_mode_cls_token: "cls",
  pooling_mode_mean_tokens: "mean",
  pooling_mode_lasttoken: "lasttoken",
  pooling_mode_max_tokens: "max",
  pooling_mode_mean_sqrt_len_tokens: "mean_sqrt_len_tokens",
  pooling_mode_weightedmean_tokens: "weightedmean",
};

const poolingConfig = z.looseObject({
  pooling_mode: z.union([z.string(), z.array(z.string())]).optional(),
});

const modules = z.array(z.object({ type: z.string() }));

export interface PoolingSettings {
  readonly pooling: Pooling;
  /** Whether the tokens of a prompt are pooled with those of its text. */
  readonly includesPrompt: boolean;
  /** Modules after the pooling that only a graph with its own pooled output can hold, e.g. `Dense`. */
  readonly furtherModules: readonly string[];
}

const promptPooling = z.object({ include_prompt: z.boolean().default(true) });

/** `shapes.pooling` of model.json, as it was chosen when the model was added. */
const pooledShapes = z.object({
  pooling: z.enum(["cls", "mean", "last", "max", "mean-sqrt-length"]).optional(),
});

/** From model.json, else 1_Pooling/config.json, else the mean. */
export async function readPoolingSettings(model: ModelPackage): Promise<PoolingSettings> {
  const shapes = parseSettings(pooledShapes, model.shapes, `${model.path}/model.json: shapes`);
  const pooling = shapes.pooling ?? (await readPooling(model));
  const { include_prompt } = await readModelJson(model, "pooling-config", promptPooling, {});
  const stated = { pooling, includesPrompt: include_prompt };
  if (!("modules" in model.files)) return { ...stated, furtherModules: [] };
  const listed = await readModelJson(model, "modules", modules);
  const types = listed.map(({ type }) => type.split(".").at(-1) ?? "");
  const ordinary = new Set(["Transformer", "Pooling", "Normalize", "StaticEmbedding"]);
  return {
    ...stated,
    furtherModules: types.filter((type) => !ordinary.has(type)),
  };
}

async function readPooling(model: ModelPackage): Promise<Pooling> {
  if (!("pooling-config" in model.files)) return "mean";
  return parsePooling(await readModelJson(model, "pooling-config", z.unknown()), model.path);
}

/** Throws where the file asks for a pooling that is not done here, or for several side by side. */
export function parsePooling(config: unknown, what: string): Pooling {
  const asked = askedPoolings(parseSettings(poolingConfig, config, what));
  const [mode = "none"] = asked;
  const found = asked.length === 1 ? POOLING_MODES[mode] : undefined;
  if (found !== undefined) return found;
  const list = Object.keys(POOLING_MODES).join(", ");
  throw new Error(`${what}: pooling must be one of ${list}, got ${asked.join(" and ") || "none"}`);
}

function askedPoolings({ pooling_mode, ...flags }: z.infer<typeof poolingConfig>): string[] {
  if (pooling_mode !== undefined) return [pooling_mode].flat();
  return Object.entries(POOLING_FLAGS).flatMap(([flag, mode]) =>
    flags[flag] === true ? [mode] : [],
  );
}

interface TokenVectors {
  /** [rows, length, width], float32; the tokens of a row come first, padding after them. */
  readonly data: Float32Array;
  readonly length: number;
  readonly width: number;
}

/** The vector [width] of one row with `count` tokens, of which the first `skipped` are left out. */
export function poolRow(
  { data, length, width }: TokenVectors,
  {
    row,
    count,
    pooling,
    skipped = 0,
  }: {
    readonly row: number;
    readonly count: number;
    readonly pooling: Pooling;
    readonly skipped?: number;
  },
): Float32Array {
  const from = row * length * width;
  // A text without tokens of its own leaves the last one.
  const left = Math.min(skipped, Math.max(0, count - 1));
  const tokens = data.subarray(from + left * width, from + count * width);
  if (pooling === "cls") return tokens.slice(0, width);
  if (pooling === "last") return tokens.slice(Math.max(0, tokens.length - width));
  if (pooling === "max") return greatest(tokens, width);
  return mean(tokens, width, pooling === "mean" ? count - left : Math.sqrt(count - left));
}

function greatest(tokens: Float32Array, width: number): Float32Array {
  const pooled = tokens.slice(0, width);
  for (let at = width, column = 0; at < tokens.length; at += 1) {
    pooled[column] = Math.max(pooled[column] ?? 0, tokens[at] ?? 0);
    column = column + 1 === width ? 0 : column + 1;
  }
  return pooled;
}

/** Sums in double precision; `sentence-transformers` guards the divisor against 0 in the same way. */
function mean(tokens: Float32Array, width: number, divisor: number): Float32Array {
  const sum = new Float64Array(width);
  for (let at = 0, column = 0; at < tokens.length; at += 1) {
    sum[column] = (sum[column] ?? 0) + (tokens[at] ?? 0);
    column = column + 1 === width ? 0 : column + 1;
  }
  const share = 1 / Math.max(divisor, 1e-9);
  return Float32Array.from(sum.map((value) => value * share));
}

/** A copy of unit length; zeros stay zeros. */
export function normalised(vector: Float32Array): Float32Array {
  let squares = 0;
  for (const value of vector) squares += value * value;
  const scale = squares > 0 ? 1 / Math.sqrt(squares) : 0;
  return vector.map((value) => value * scale);
}

/** 0 to 1. */
export function sigmoid(logit: number): number {
  return 1 / (1 + Math.exp(-logit));
}

/** Shares of 1, by the differences to the greatest logit, so that nothing overflows. */
export function softmax(logits: ArrayLike<number>): number[] {
  const values = Array.from(logits);
  const max = Math.max(...values);
  const powers = values.map((value) => Math.exp(value - max));
  const sum = powers.reduce((total, power) => total + power, 0);
  return powers.map((power) => power / sum);
}
