import { z } from "zod";
import {
  type ModelPackage,
  openModelGraphs,
  readModelJson,
  threadsFor,
} from "../../runtime/packages/model-package.js";
import { float32 } from "../../runtime/tensors/tensor.js";
import type { BatchRunner, Sized } from "../../runtime/batching/batch-runner.js";
import { createGraphRunner, type EncoderSetup } from "../encoder/open.js";

/** How often each known word is in a text. */
export interface WordCounts extends Sized {
  /** Column → count. */
  readonly counts: ReadonlyMap<number, number>;
}

export interface BagOfWords {
  count(text: string): WordCounts;
  /** Probabilities of each text's labels, 0 to 1. */
  readonly run: BatchRunner<WordCounts>["run"];
  close(): Promise<void>;
}

const vocabularyFile = z.object({
  token_pattern: z.string().default(String.raw`(?u)\b\w\w+\b`),
  lowercase: z.boolean().default(true),
  vocabulary: z.record(z.string(), z.int().nonnegative()),
});

/** Shortest word of the patterns of scikit-learn's `CountVectorizer` that are read. */
const SHORTEST_WORD: Readonly<Record<string, number>> = {
  [String.raw`(?u)\b\w\w+\b`]: 2,
  [String.raw`(?u)\b\w+\b`]: 1,
};

/** Most rows of a batch: counts are dense, one column a word. */
const MAX_ROWS = 64;
const ROLE = "classifier";

/** Opens a package of pipeline `bag-of-words`: roles `classifier` and `vocabulary`. */
export async function openBagOfWords(
  model: ModelPackage,
  setup: EncoderSetup,
): Promise<BagOfWords> {
  const vocabulary = await readModelJson(model, "vocabulary", vocabularyFile);
  const count = createWordCounter(vocabulary);
  const threads = threadsFor(model, ROLE, setup.threads);
  const session = await openModelGraphs(model, [ROLE], { ...setup, threads });
  const { inputs = [], outputs = [] } = session.info[ROLE] ?? {};
  const [input, output] = [inputs[0], outputs[0]];
  const columns = input?.dims[1];
  if (input === undefined || output === undefined || typeof columns !== "number") {
    await session.close();
    throw new Error(`${model.path}: the graph ${ROLE} must take counts [rows, words]`);
  }
  const runner = createGraphRunner<WordCounts>(session, {
    role: ROLE,
    output: output.name,
    limits: { maxPadded: MAX_ROWS, maxRows: MAX_ROWS, worthwhile: MAX_ROWS, equalLengths: false },
    pack: (texts) => [{ [input.name]: float32(dense(texts, columns), [texts.length, columns]) }],
  });
  return { count, ...runner };
}

function dense(texts: readonly WordCounts[], columns: number): Float32Array {
  const values = new Float32Array(texts.length * columns);
  for (const [row, { counts }] of texts.entries()) {
    for (const [column, count] of counts) values[row * columns + column] = count;
  }
  return values;
}

/**
 * Counts as scikit-learn's `CountVectorizer` does: words are runs of Python's `\w`, that is letters,
 * numbers and the underscore, and words out of the vocabulary are left out.
 */
export function createWordCounter(
  file: z.input<typeof vocabularyFile>,
): (text: string) => WordCounts {
  const { token_pattern: pattern, lowercase, vocabulary } = vocabularyFile.parse(file);
  const shortest = SHORTEST_WORD[pattern];
  if (shortest === undefined)
    throw new Error(
      `token_pattern must be one of ${Object.keys(SHORTEST_WORD).join(", ")}, got ${pattern}`,
    );
  const columns = new Map(Object.entries(vocabulary));
  const words = new RegExp(String.raw`[\p{L}\p{N}_]{${shortest},}`, "gu");
  return (text) => {
    const counts = new Map<number, number>();
    for (const [word] of (lowercase ? text.toLowerCase() : text).matchAll(words)) {
      const column = columns.get(word);
      if (column !== undefined) counts.set(column, (counts.get(column) ?? 0) + 1);
    }
    return { counts, length: 1 };
  };
}
