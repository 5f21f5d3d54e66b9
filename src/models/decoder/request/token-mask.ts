import type { ToolCallSpec } from "./tool-call-spec.js";

/** What a constrained answer must be. Plain data: crosses to the engine's thread. */
export type MaskSpec =
  | { readonly kind: "json-object" }
  | { readonly kind: "json-schema"; readonly schema: unknown }
  | { readonly kind: "tool-calls"; readonly calls: ToolCallSpec };

/** Follows one answer and says which tokens may come next. */
export interface TokenMask {
  /**
   * Bit `id % 32` of word `id / 32` is set where the token `id` may come next; null allows all. Valid
   * until the next call of `accept`.
   */
  allowed(): Int32Array | Uint32Array | null;
  /** Tells which token was chosen; throws where it was not allowed. */
  accept(tokenId: number): void;
  /** The answer is whole and nothing but a stop token may follow. */
  readonly isComplete: boolean;
}

export type MaskFactory = (spec: MaskSpec) => TokenMask;
