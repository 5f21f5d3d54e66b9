import { readFileSync } from "node:fs";
import * as fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openPeerEmbedder } from "#framemill/bench/text/transformers-js.js";
import { createSequenceTokenizer } from "#framemill/models/tokenizer/sequence-tokenizer.js";
import { loadTextTokenizer } from "#framemill/models/tokenizer/text-tokenizer.js";
import { embeddings } from "#framemill/modalities/embeddings/index.js";
import type { EmbeddingsOutput } from "#framemill/modalities/embeddings/request.js";
import { moderation } from "#framemill/modalities/moderation/index.js";
import { rerank } from "#framemill/modalities/rerank/index.js";
import { addedModel } from "../../support/added-model.js";
import { distance, vectorsOf } from "../../support/embedding-vectors.js";
import { openRunner, type Runner } from "../../support/one-process.js";
import { describeWithModels, publishedModel } from "../../support/published-models.js";
import { wordTexts } from "../../support/word-texts.js";

const BERT = "tiny-official/embed-bert";
const TABLE = "embed-model2vec-fixtures/test-model-vocab-quantized";

const readGolden = (...path: string[]) => JSON.parse(readFileSync(publishedModel(...path), "utf8"));

describeWithModels("embeddings", () => {
  type Embedder = Runner<unknown, EmbeddingsOutput>;
  let bert: Embedder;
  let table: Embedder;
  beforeAll(async () => {
    bert = await openRunner(embeddings, (await addedModel(BERT)).path);
    table = await openRunner(embeddings, (await addedModel(TABLE)).path);
  });
  afterAll(async () => {
    await bert.close();
    await table.close();
  });

  // golden.json is of sentence-transformers' own PyTorch run; tolerance 1e-5, 6e-8 was measured.
  test("equal those of sentence-transformers for a BERT with mean pooling", async () => {
    const golden = readGolden(BERT, "golden.json");
    const output = await bert.run({ input: golden.texts });
    const tokens = golden.input_ids.flat().length;
    expect(output).toMatchObject({ dimensions: 32, inputTokens: tokens });
    vectorsOf(output).forEach((vector, at) =>
      expect(distance(vector, golden.mean_normalized[at])).toBeLessThan(1e-5),
    );
  });

  test("equal those of transformers.js on the same folder, alone and in a batch", async () => {
    const { path } = await addedModel(BERT);
    const peer = await openPeerEmbedder(path);
    const texts = ["a", "A longer text, with punctuation!", "déjà vu 北京 🙂", "x ".repeat(200)];
    const batched = vectorsOf(await bert.run({ input: texts }));
    for (const [at, text] of texts.entries()) {
      const expected = [...(await peer.embed(text))];
      const [alone = []] = vectorsOf(await bert.run({ input: text }));
      expect(distance(batched[at] ?? [], expected)).toBeLessThan(1e-5);
      expect(distance(alone, expected)).toBeLessThan(1e-5);
    }
    await peer.close();
  });

  // Upstream's own fixture of Model2Vec; tolerance 1e-5, 2e-8 was measured.
  test("equal Model2Vec's for a quantised vocabulary with weights", async () => {
    const [expected] = readGolden("embed-model2vec-fixtures", "embeddings_vocab_quantized.json");
    const output = await table.run({ input: Array(1_000).fill("hello").join(" ") });
    expect(distance(vectorsOf(output)[0] ?? [], expected)).toBeLessThan(1e-5);
    const { pairs } = readGolden("embed-model2vec-fixtures", "golden.json");
    for (const { query, related, unrelated, cos_related, cos_unrelated } of pairs) {
      const found = vectorsOf(await table.run({ input: [query, related, unrelated] }));
      const [q = [], r = [], u = []] = found;
      const cosine = (other: number[]) =>
        q.reduce((sum, one, at) => sum + one * (other[at] ?? 0), 0);
      expect(cosine(r)).toBeCloseTo(cos_related, 5);
      expect(cosine(u)).toBeCloseTo(cos_unrelated, 5);
    }
  });
});

describeWithModels("a reranker", () => {
  // golden.json is of transformers' own PyTorch run; tolerance 1e-5, 2e-8 was measured on logits.
  test("scores pairs as transformers does", async () => {
    const name = "tiny-official/rerank-bert";
    const runner = await openRunner(rerank, (await addedModel(name)).path);
    const { query, documents, sigmoid, input_ids } = readGolden(name, "golden.json");
    const output = await runner.run({ query, documents });
    expect(distance(output.scores, sigmoid)).toBeLessThan(1e-5);
    expect(output).toMatchObject({ totalTokens: input_ids.flat().length, chunks: 3 });
    await runner.close();
  });
});

interface Judged {
  readonly results: readonly {
    readonly category_scores: Readonly<Record<string, number>>;
    readonly flagged: boolean;
  }[];
}

async function judge(name: string, input: readonly string[]) {
  const runner = await openRunner(moderation, (await addedModel(name)).path);
  try {
    // Its answer is OpenAI's list of results.
    return ((await runner.answer({ input })) as unknown as Judged).results;
  } finally {
    await runner.close();
  }
}

describeWithModels("moderation", () => {
  // golden.json is of transformers' own PyTorch run; tolerance 1e-5, 5e-8 was measured on logits.
  test("scores labels as transformers does and maps them to categories", async () => {
    const name = "tiny-official/moderation-bert";
    const golden = readGolden(name, "golden.json");
    const results = await judge(name, golden.texts);
    for (const [at, [toxic, severe, obscene, threat, insult, hate]] of golden.sigmoid.entries()) {
      const scores = results[at]?.category_scores ?? {};
      expect(scores["harassment"]).toBeCloseTo(Math.max(toxic, severe, obscene, insult), 5);
      expect(scores["violence"]).toBeCloseTo(threat, 5);
      expect(scores["hate"]).toBeCloseTo(hate, 5);
    }
  });

  // Upstream's seven labels and the graph's own probabilities (golden.json), to 1e-6.
  test("finds profanity as profanity-check does, 7 of 7", async () => {
    const name = "moderation-profanity-check";
    const golden = readGolden(name, "golden.json") as readonly {
      readonly text: string;
      readonly probability: number;
      readonly upstream_expected_label: number;
    }[];
    const results = await judge(
      name,
      golden.map(({ text }) => text),
    );
    for (const [at, expected] of golden.entries()) {
      expect(results[at]?.category_scores["harassment"]).toBeCloseTo(expected.probability, 6);
      expect(results[at]?.flagged).toBe(expected.upstream_expected_label === 1);
    }
  });
});

describeWithModels("reading texts word by word", () => {
  test.each([
    "tokenizers/bert-base-uncased",
    "tokenizers/t5-small",
    BERT,
    TABLE,
    "tokenizers/roberta-base",
  ])("gives the ids of the whole text with %s", async (name) => {
    const tokenizer = await loadTextTokenizer({
      tokenizer: publishedModel(name, "tokenizer.json"),
    });
    const { contentOf } = createSequenceTokenizer(tokenizer);
    const property = fc.property(wordTexts, (text) => {
      const whole = tokenizer.encode(text, { addSpecialTokens: false }).ids;
      expect([...contentOf(text)]).toEqual(whole);
    });
    // Two cuts of "hello" are equally likely: what stands before it decides between them.
    fc.assert(property, { numRuns: 150, examples: [["! ѕHello "]] });
  });
});
