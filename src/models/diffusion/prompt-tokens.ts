import type { TextTokenizer } from "../tokenizer/text-tokenizer.js";

/** One prompt as a text encoder of fixed length reads it. */
export interface PromptTokens {
  /** `length` ids: cut to fit, special tokens kept, filled up with the padding token. */
  readonly ids: readonly number[];
  /** Ids before the padding. */
  readonly used: number;
}

export function promptTokens(tokenizer: TextTokenizer, text: string, length: number): PromptTokens {
  const { ids } = tokenizer.encode(text, { maxTokens: length });
  const padding = tokenizer.special.pad ?? tokenizer.special.eos ?? 0;
  const missing = Math.max(0, length - ids.length);
  return { ids: [...ids, ...Array.from({ length: missing }, () => padding)], used: ids.length };
}
