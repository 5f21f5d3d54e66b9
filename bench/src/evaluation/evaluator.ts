import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
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

/** Rows of a JSONL file of held-out cases, the first `limit` of them. */
export async function readCases<Row>(
  path: readonly [folder: string, file: string],
  schema: z.ZodType<Row>,
  limit = Infinity,
): Promise<Row[]> {
  const lines = (await readFile(join(...path), "utf8")).split("\n").filter((line) => line !== "");
  return lines.slice(0, limit).map((line) => schema.parse(JSON.parse(line)));
}

/** A query with passages, one of which answers it: `documents[answer]`. */
export const rankedList = z.object({
  kind: z.string(),
  query: z.string(),
  documents: z.array(z.string()),
  answer: z.int(),
});

/** At most `limit` of each kind, in their order. */
export function ofEachKind<Item>(
  items: readonly Item[],
  limit: number,
  kindOf: (item: Item) => string,
): Item[] {
  const seen = new Map<string, number>();
  return items.filter((item) => {
    const kind = kindOf(item);
    const count = seen.get(kind) ?? 0;
    seen.set(kind, count + 1);
    return count < limit;
  });
}

/** Neighbours in lists of at most `most`. */
export function inGroups<Item>(items: readonly Item[], most: number): Item[][] {
  return Array.from({ length: Math.ceil(items.length / most) }, (_, at) =>
    items.slice(at * most, (at + 1) * most),
  );
}

/** 0 where there are none. */
export function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length);
}

/** To four decimals. */
export function rounded(value: number): number {
  return Math.round(value * 10_000) / 10_000;
}
