import type { PipelineContext } from "../../core/modality.js";

/** Says of texts what speaks against them. */
export interface TextGuard {
  /** What it looks for, by its own names. */
  readonly labels: readonly string[];
  /** One judgement a text, in their order; requests that run side by side share batches. */
  judge(texts: readonly string[], context: JudgeContext): Promise<Judgement[]>;
  close(): Promise<void>;
}

export type JudgeContext = Pick<PipelineContext, "signal" | "tenant">;

export interface Judgement {
  /** Of each label, 0 to 1. */
  readonly probabilities: readonly number[];
  /** Of the text, each counted once, however often it was asked about. */
  readonly tokens: number;
}
