import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import {
  type Evaluate,
  type EvaluationContext,
  inGroups,
  mean,
  ofEachKind,
  rankedList,
  readCases,
  rounded,
} from "./evaluator.js";
import { createBm25, isFirst, ndcgAt10 } from "./ranking.js";

const triple = z.object({
  kind: z.string(),
  anchor: z.string(),
  related: z.string(),
  unrelated: z.string(),
});
const search = z.object({ query: z.string(), answer: z.int() });
const output = z.object({ dimensions: z.int(), vectors: z.string() });

const BATCH = 256;
/** The shortest vectors that the model was trained to serve. */
const SHORT = 64;
const FLOAT_BYTES = 4;

/**
 * How often a related text is nearer than an unrelated one, with whole and with shortened vectors, and
 * how well passages are found, beside BM25.
 */
export const evaluateEmbeddings: Evaluate = async (context) => {
  const { folder, limit } = context;
  const all = await readCases([folder, "triples.jsonl"], triple);
  const triples = ofEachKind(all, limit, ({ kind }) => kind);
  const words = await readCases([folder, "words.jsonl"], triple, limit);
  const searches = await readCases([folder, "queries.jsonl"], search, limit);
  const passages = z
    .array(z.string())
    .parse(JSON.parse(await readFile(join(folder, "passages.json"), "utf8")));
  const everyday = await readCases([folder, "everyday.jsonl"], rankedList, limit);
  const everydayTexts = everyday.flatMap(({ query, documents }) => [query, ...documents]);
  const texts = triples.flatMap(textsOf);
  const wordTexts = words.flatMap(textsOf);
  const queries = searches.map(({ query }) => query);
  const embed = createEmbed(
    context,
    texts.length * 2 + wordTexts.length + queries.length + passages.length + everydayTexts.length,
  );
  const firsts = relatedFirst(await embed(texts));
  const shortFirsts = relatedFirst(await embed(texts, SHORT));
  const wordFirsts = relatedFirst(await embed(wordTexts));
  const [asked, answers] = [await embed(queries), await embed(passages)];
  const bm25 = createBm25(passages);
  const found = searches.map(({ answer }, at) => {
    const query = asked[at] ?? new Float32Array();
    const scores = answers.map((passage) => product(query, passage));
    return ndcgAt10(scores, answer);
  });
  const byWords = searches.map(({ query, answer }) => ndcgAt10(bm25(query), answer));
  const rightFirst = everydayFirst(everyday, await embed(everydayTexts));
  return {
    related_first: rounded(mean(firsts)),
    related_first_64: rounded(mean(shortFirsts)),
    ...byKind(triples, firsts),
    related_first_word_of_kind: rounded(mean(wordFirsts)),
    ndcg_at_10: rounded(mean(found)),
    ndcg_at_10_above_bm25: rounded(mean(found) - mean(byWords)),
    everyday: rounded(mean(rightFirst)),
  };
};

function textsOf({ anchor, related, unrelated }: z.infer<typeof triple>): string[] {
  return [anchor, related, unrelated];
}

type Embed = (texts: readonly string[], dimensions?: number) => Promise<Float32Array[]>;

/** Vectors in the order of the texts, by requests of at most 256. */
function createEmbed(context: EvaluationContext, all: number): Embed {
  let done = 0;
  return async (texts, dimensions) => {
    const vectors: Float32Array[] = [];
    for (const input of inGroups(texts, BATCH)) {
      const body = {
        model: context.model.id,
        input,
        ...(dimensions !== undefined && { dimensions }),
      };
      const made = output.parse((await context.make(body)).output);
      vectors.push(...rowsOf(made));
      context.progress((done += input.length), all);
    }
    return vectors;
  };
}

function rowsOf({ dimensions, vectors }: z.infer<typeof output>): Float32Array[] {
  const bytes = Buffer.from(vectors, "base64");
  const count = bytes.byteLength / (FLOAT_BYTES * dimensions);
  return Array.from({ length: count }, (_, row) =>
    Float32Array.from({ length: dimensions }, (__, column) =>
      bytes.readFloatLE((row * dimensions + column) * FLOAT_BYTES),
    ),
  );
}

/** 1 where the second of three is nearer to the first than the third is, else 0. */
function relatedFirst(vectors: readonly Float32Array[]): number[] {
  return inGroups(vectors, 3).map(([anchor, related, unrelated]) => {
    if (!anchor || !related || !unrelated) return 0;
    return product(anchor, related) > product(anchor, unrelated) ? 1 : 0;
  });
}

/** 1 where the answer is nearest to its query; the vectors are each query's and its documents', in turn. */
function everydayFirst(
  lists: readonly z.infer<typeof rankedList>[],
  vectors: readonly Float32Array[],
): number[] {
  let at = 0;
  return lists.map(({ documents, answer }) => {
    const query = vectors[at] ?? new Float32Array();
    const from = at + 1;
    at = from + documents.length;
    const scores = vectors.slice(from, at).map((vector) => product(query, vector));
    return isFirst(scores, answer) ? 1 : 0;
  });
}

function product(first: Float32Array, second: Float32Array): number {
  return first.reduce((sum, value, at) => sum + value * (second[at] ?? 0), 0);
}

/** `definition-of-kind` becomes `related_first_definition_of_kind`. */
function byKind(
  triples: readonly z.infer<typeof triple>[],
  firsts: readonly number[],
): Record<string, number> {
  const kinds = [...new Set(triples.map(({ kind }) => kind))].toSorted();
  const entries = kinds.map((kind) => {
    const values = firsts.filter((_, at) => triples[at]?.kind === kind);
    return [`related_first_${kind.replaceAll("-", "_")}`, rounded(mean(values))] as const;
  });
  return Object.fromEntries(entries);
}
