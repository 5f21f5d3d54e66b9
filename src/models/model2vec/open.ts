import { z } from "zod";
import { graphPaths, type ModelPackage } from "../../runtime/packages/model-package.js";
import { readSafetensors } from "../../runtime/onnx/safetensors.js";
import { readEncoderConfig } from "../encoder/settings.js";
import { loadTextTokenizer, type TextTokenizer } from "../tokenizer/text-tokenizer.js";
import type { TextEmbedder } from "../encoder/text-embedder.js";
import { yieldToEventLoop } from "../../runtime/batching/yield-to-event-loop.js";
import { cacheWords } from "../tokenizer/word-cache.js";

/** A Model2Vec table: a vector and a weight for every token. */
interface TokenTable {
  /** [vectors, width], float32, row-major. */
  readonly vectors: Float32Array;
  readonly width: number;
  /** Row of each token. */
  readonly rowOf: (id: number) => number;
  readonly weightOf: (id: number) => number;
  readonly vocabSize: number;
}

const DEFAULT_MAX_TOKENS = 8_192;

/**
 * Static embeddings: the weighted vectors of a text's tokens, averaged, without special or unknown
 * tokens (MinishLab/model2vec, `StaticModel.encode`). A text without known tokens is all zeros.
 */
export async function openStaticEmbedder(model: ModelPackage): Promise<TextEmbedder> {
  const files = graphPaths(model, ["tokenizer", "embeddings"]);
  const config = await readEncoderConfig(model);
  const tokenizer = await loadTextTokenizer({ tokenizer: files["tokenizer"] ?? "" });
  const table = await readTable(files["embeddings"] ?? "");
  const unknown = unknownId(tokenizer);
  const sequenceOf = (ids: Int32Array) => ({ ids, typeIds: null, length: ids.length });
  const vectorOf = (ids: Int32Array) =>
    meanVector(
      table,
      ids.filter((id) => id !== unknown),
    );
  const contentOf = cacheWords(
    tokenizer.json,
    (text) => tokenizer.encode(text, { addSpecialTokens: false }).ids,
  );
  return {
    maxTokens:
      model.limits.contextTokens ?? Math.min(config.seq_length ?? Infinity, DEFAULT_MAX_TOKENS),
    vocabSize: table.vocabSize,
    sequenceOfText: (text, prompt = "") => sequenceOf(contentOf(prompt + text)),
    sequenceOfIds: (ids) => sequenceOf(Int32Array.from(ids)),
    async embed(sequences, signal) {
      const rows: Float32Array[] = [];
      const pause = yieldToEventLoop(signal);
      for (const { ids } of sequences) {
        await pause();
        rows.push(vectorOf(ids));
      }
      return rows;
    },
    close: async () => {},
  };
}

async function readTable(path: string): Promise<TokenTable> {
  const file = await readSafetensors(path);
  const name = file.has("embeddings") ? "embeddings" : "embedding.weight";
  const [count = 0, width = 0] = file.shapeOf(name);
  const mapping = file.has("mapping") ? file.integers("mapping") : null;
  const weights = file.has("weights") ? file.floats("weights") : null;
  if (mapping?.some((row) => row < 0 || row >= count))
    throw new Error(`${path}: mapping must name rows 0 to ${count - 1}`);
  const vocabSize = mapping?.length ?? count;
  if (weights !== null && weights.length !== vocabSize)
    throw new Error(`${path}: weights must have ${vocabSize} values, has ${weights.length}`);
  return {
    vectors: file.floats(name),
    width,
    rowOf: (id) => (mapping === null ? id : (mapping[id] ?? 0)),
    weightOf: (id) => (weights === null ? 1 : (weights[id] ?? 1)),
    vocabSize,
  };
}

function meanVector(
  { vectors, width, rowOf, weightOf }: TokenTable,
  ids: Int32Array,
): Float32Array {
  const sum = new Float64Array(width);
  for (const id of ids) {
    const at = rowOf(id) * width;
    const weight = weightOf(id);
    for (let index = 0; index < width; index += 1)
      sum[index] = (sum[index] ?? 0) + weight * (vectors[at + index] ?? 0);
  }
  return Float32Array.from(sum, (value) => value / Math.max(1, ids.length));
}

const unknownToken = z.object({
  model: z.object({ unk_token: z.string().nullish(), unk_id: z.int().nullish() }),
});

/** Undefined where the vocabulary covers every text. */
function unknownId(tokenizer: TextTokenizer): number | undefined {
  const { model } = unknownToken.parse(tokenizer.json);
  return model.unk_token ? tokenizer.idOf(model.unk_token) : (model.unk_id ?? undefined);
}
