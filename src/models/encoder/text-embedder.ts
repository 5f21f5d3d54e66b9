import { z } from "zod";
import { POOLED_OUTPUTS } from "../../runtime/packages/layout.js";
import type { ModelPackage } from "../../runtime/packages/model-package.js";
import type { GraphInfo } from "../../runtime/tensors/tensor.js";
import type { TokenSequence } from "../tokenizer/sequence-tokenizer.js";
import { type PoolingSettings, poolRow, readPoolingSettings } from "./settings.js";
import {
  type EncoderSetup,
  findOutput,
  openEncoder,
  type OpenEncoder,
  rowOf,
  type RowReader,
} from "./open.js";

/** Texts to vectors. */
export interface TextEmbedder {
  /** Most tokens of one text, special ones included. */
  readonly maxTokens: number;
  /** Ids are below it. */
  readonly vocabSize: number;
  /** Tokens of a prompt and the text behind it, whole. */
  sequenceOfText(text: string, prompt?: string): TokenSequence;
  /** Ids of the model's own vocabulary; special tokens are added unless they are there. */
  sequenceOfIds(ids: readonly number[]): TokenSequence;
  /** One vector a sequence, with as many dimensions as the model has, as it is pooled. */
  embed(sequences: readonly TokenSequence[], signal: AbortSignal): Promise<Float32Array[]>;
  close(): Promise<void>;
}

/** Vectors of an encoder's tokens, pooled as the package says. */
export async function openEncoderEmbedder(
  model: ModelPackage,
  setup: EncoderSetup,
): Promise<TextEmbedder> {
  const settings = await readPoolingSettings(model);
  const encoder = await openEncoder(model, setup, (info) => chooseReader(info, settings, model));
  return createEmbedder(encoder);
}

function createEmbedder(encoder: OpenEncoder): TextEmbedder {
  const { tokens, config } = encoder;
  const { template, tokenizer } = tokens;
  return {
    maxTokens: encoder.maxTokens,
    vocabSize: config.vocab_size ?? tokenizer.vocabSize,
    sequenceOfText(text, prompt = "") {
      const sequence = template.single(tokens.contentOf(prompt + text));
      if (prompt === "") return sequence;
      // Counted as sentence-transformers does: the prompt alone, whatever joins at its end.
      return { ...sequence, promptLength: template.leading + tokens.contentOf(prompt).length };
    },
    sequenceOfIds(given) {
      const ids = Int32Array.from(given);
      if (template.isWrapped(ids)) return { ids, typeIds: null, length: ids.length };
      return template.single(ids);
    },
    embed: encoder.run,
    close: () => encoder.close(),
  };
}

const TOKEN_LEVEL = ["last_hidden_state", "token_embeddings", "hidden_states"];

const promptShapes = z.object({ prompts: z.record(z.string(), z.string()).optional() });

function hasPrompts({ shapes }: ModelPackage): boolean {
  return Object.values(promptShapes.parse(shapes).prompts ?? {}).some((text) => text !== "");
}

function chooseReader(
  info: GraphInfo,
  { pooling, includesPrompt, furtherModules }: PoolingSettings,
  model: ModelPackage,
): RowReader {
  const { path } = model;
  const pooled = info.outputs.find(({ name }) => POOLED_OUTPUTS.has(name));
  if (pooled !== undefined && !includesPrompt && hasPrompts(model))
    throw new Error(
      `${path}: 1_Pooling leaves prompts out (include_prompt), which the graph's own ${pooled.name} cannot: export it without its pooling`,
    );
  if (pooled !== undefined) {
    return {
      output: pooled.name,
      readRows: (tensor, _batch, sequences) => sequences.map((_, row) => rowOf(tensor, row)),
    };
  }
  if (furtherModules.length > 0)
    throw new Error(
      `${path}: modules.json names ${furtherModules.join(", ")}: only a graph with the output sentence_embedding can hold them`,
    );
  const hidden = findOutput(info, TOKEN_LEVEL, 3);
  if (hidden === undefined) {
    const has = info.outputs.map(({ name }) => name).join(", ");
    throw new Error(
      `${path}: the graph encoder must have the output last_hidden_state or sentence_embedding, has ${has}`,
    );
  }
  return {
    output: hidden.name,
    readRows({ data, dims }, batch, sequences) {
      if (!(data instanceof Float32Array))
        throw new TypeError(`${hidden.name} must be of a float type`);
      const vectors = { data, length: dims[1] ?? batch.length, width: dims[2] ?? 0 };
      return sequences.map(({ length: count, promptLength = 0 }, row) =>
        poolRow(vectors, { row, count, pooling, skipped: includesPrompt ? 0 : promptLength }),
      );
    },
  };
}
