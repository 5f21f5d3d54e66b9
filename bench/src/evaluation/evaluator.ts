import type { Made } from "../../../src/bin/package-runner.js";
import type { ModelInfo } from "../../../src/core/modality.js";

export interface EvaluationContext {
  readonly model: ModelInfo;
  /** The package's `evaluation` folder: held-out cases, references and judges. */
  readonly folder: string;
  /** Most cases of each set; Infinity in a whole evaluation. */
  readonly limit: number;
  readonly ffmpegPath: string;
  readonly ffprobePath: string;
  readonly signal: AbortSignal;
  /** Runs a request body of the modality's endpoint through admission and the real pipeline. */
  make(body: Record<string, unknown>): Promise<Made>;
  /** Tells how many of how many cases are done. */
  progress(done: number, of: number): void;
}

/** Measures of a package by the names that its evaluation.json states. */
export type Measures = Readonly<Record<string, number>>;

export type Evaluate = (context: EvaluationContext) => Promise<Measures>;
