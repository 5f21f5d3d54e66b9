import type { TokenSequence } from "../tokenizer/token-template.js";

/** Texts to vectors. */
export interface TextEmbedder {
  /** Most tokens of one text, special ones included. */
  readonly maxTokens: number;
  /** Ids are below it. */
  readonly vocabSize: number;
  /** A text's tokens, whole. */
  sequenceOfText(text: string): TokenSequence;
  /** Ids of the model's own vocabulary; special tokens are added unless they are there. */
  sequenceOfIds(ids: readonly number[]): TokenSequence;
  /** One vector a sequence, of the model's own length, normalised where the model says so. */
  embed(sequences: readonly TokenSequence[], signal: AbortSignal): Promise<Float32Array[]>;
  close(): Promise<void>;
}
