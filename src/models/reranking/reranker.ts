import type { PipelineContext } from "../../core/modality.js";

/** Judges how well documents answer a query. */
export interface Reranker {
  /** One judgement a document, in their order; requests that run side by side share batches. */
  judge(question: RankedTexts, context: JudgeContext): Promise<Relevance[]>;
  close(): Promise<void>;
}

export interface RankedTexts {
  readonly query: string;
  readonly documents: readonly string[];
  /** Documents are cut to these, and both texts to what the model reads. */
  readonly maxTokensPerDocument: number;
}

export type JudgeContext = Pick<PipelineContext, "signal" | "tenant">;

export interface Relevance {
  /** 0 to 1. */
  readonly score: number;
  /** Tokens of the query and of the document, as far as they were read. */
  readonly queryTokens: number;
  readonly documentTokens: number;
  /** All that the model read for the document. */
  readonly totalTokens: number;
}
