import { readFileSync } from "node:fs";
import { CohereClientV2 } from "cohere-ai";
import * as fc from "fast-check";
import OpenAI from "openai";
import sharp from "sharp";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openPeerEmbedder } from "#framemill/bench/peer-embedder.js";
import { createSequenceTokenizer } from "#framemill/inference/encoder/sequence-tokenizer.js";
import { loadTextTokenizer } from "#framemill/inference/text-tokenizer.js";
import { embeddings } from "#framemill/modalities/embeddings/index.js";
import type { EmbeddingsOutput } from "#framemill/modalities/embeddings/request.js";
import { moderation } from "#framemill/modalities/moderation/index.js";
import { rerank } from "#framemill/modalities/rerank/index.js";
import { addedModel } from "../../support/added-model.js";
import { openRunner, type Runner, serveRunners } from "../../support/one-process.js";
import { makePictureClassifier } from "../../support/picture-classifier.js";
import { describeWithModels, publishedModel } from "../../support/published-models.js";

const readGolden = (...path: string[]) => JSON.parse(readFileSync(publishedModel(...path), "utf8"));

function vectorsOf({ vectors, dimensions }: EmbeddingsOutput): number[][] {
  const floats = new Float32Array(Uint8Array.from(Buffer.from(vectors, "base64")).buffer);
  const count = floats.length / dimensions;
  return Array.from({ length: count }, (_, index) => [
    ...floats.subarray(index * dimensions, (index + 1) * dimensions),
  ]);
}

function distance(a: readonly number[], b: readonly number[]): number {
  expect(a).toHaveLength(b.length);
  return Math.max(...a.map((value, index) => Math.abs(value - (b[index] ?? Number.NaN))));
}

describeWithModels("embeddings", () => {
  type Embedder = Runner<unknown, EmbeddingsOutput>;
  let bert: Embedder;
  let table: Embedder;
  beforeAll(async () => {
    bert = await openRunner(embeddings, (await addedModel("tiny-official/embed-bert")).path);
    const words = await addedModel("embed-model2vec-fixtures/test-model-vocab-quantized");
    table = await openRunner(embeddings, words.path);
  });
  afterAll(async () => {
    await bert.close();
    await table.close();
  });

  // golden.json is of sentence-transformers' own PyTorch run; tolerance 1e-5, 6e-8 was measured.
  test("equal those of sentence-transformers for a BERT with mean pooling", async () => {
    const golden = readGolden("tiny-official", "embed-bert", "golden.json");
    const output = await bert.run({ input: golden.texts });
    const tokens = golden.input_ids.flat().length;
    expect(output).toMatchObject({ dimensions: 32, inputTokens: tokens });
    vectorsOf(output).forEach((vector, at) =>
      expect(distance(vector, golden.mean_normalized[at])).toBeLessThan(1e-5),
    );
    const byIds = await bert.run({ input: golden.input_ids });
    expect(distance(vectorsOf(byIds)[0] ?? [], golden.mean_normalized[0])).toBeLessThan(1e-5);
  });

  test("equal those of transformers.js on the same folder, alone and in a batch", async () => {
    const { path } = await addedModel("tiny-official/embed-bert");
    const peer = await openPeerEmbedder(path);
    const texts = ["a", "A longer text, with punctuation!", "déjà vu 北京 🙂", "x ".repeat(200)];
    const together = vectorsOf(await bert.run({ input: texts }));
    const alone = await Promise.all(texts.map((input) => bert.run({ input })));
    for (const [at, text] of texts.entries()) {
      const expected = [...(await peer.embed(text))];
      expect(distance(together[at] ?? [], expected)).toBeLessThan(1e-5);
      expect(distance(vectorsOf(alone[at] as EmbeddingsOutput)[0] ?? [], expected)).toBeLessThan(
        1e-5,
      );
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

  test("are shortened to unit length when fewer dimensions are asked for", async () => {
    const [whole = []] = vectorsOf(await bert.run({ input: "hello" }));
    const [short = []] = vectorsOf(await bert.run({ input: "hello", dimensions: 8 }));
    const norm = Math.hypot(...whole.slice(0, 8));
    expect(
      distance(
        short,
        whole.slice(0, 8).map((value) => value / norm),
      ),
    ).toBeLessThan(1e-6);
  });

  test("refuse a text that is too long and ids that are not in the vocabulary", async () => {
    await expect(bert.run({ input: ["a", "word ".repeat(300)] })).rejects.toMatchObject({
      code: "context_length_exceeded",
      message: "This model's maximum context length is 256 tokens, however input 1 has 302 tokens",
      param: "input",
    });
    await expect(bert.run({ input: [30_522] })).rejects.toMatchObject({ param: "input" });
  });

  test("end at once when they are cancelled", async () => {
    const abort = new AbortController();
    const texts = Array.from({ length: 2_000 }, (_, at) => `${at} ${"word ".repeat(100)}`);
    const running = bert.run({ input: texts }, abort.signal);
    setTimeout(() => abort.abort(new Error("cancelled")), 30);
    await expect(running).rejects.toThrow("cancelled");
    expect(vectorsOf(await bert.run({ input: "hello" }))).toHaveLength(1);
  });
});

describeWithModels("a reranker", () => {
  // golden.json is of transformers' own PyTorch run; tolerance 1e-5, 2e-8 was measured on logits.
  test("scores pairs as transformers does, and cuts documents to what is asked for", async () => {
    const runner = await openRunner(rerank, (await addedModel("tiny-official/rerank-bert")).path);
    const { query, documents, sigmoid, input_ids } = readGolden(
      "tiny-official",
      "rerank-bert",
      "golden.json",
    );
    const output = await runner.run({ query, documents });
    expect(distance(output.scores, sigmoid)).toBeLessThan(1e-5);
    expect(output).toMatchObject({ totalTokens: input_ids.flat().length, chunks: 3 });
    const long = [documents[0], `${documents[0]} ${"and more words ".repeat(900)}`];
    const cut = await runner.run({ query, documents: long, max_tokens_per_doc: 7 });
    expect(cut.scores[1]).toBeCloseTo(cut.scores[0] ?? Number.NaN, 6);
    const whole = await runner.run({ query, documents: long });
    expect(whole.totalTokens).toBe(17 + 512);
    await runner.close();
  });
});

describeWithModels("moderation", () => {
  // golden.json is of transformers' own PyTorch run; tolerance 1e-5, 5e-8 was measured on logits.
  test("scores labels as transformers does and maps them to categories", async () => {
    const { path } = await addedModel("tiny-official/moderation-bert");
    const runner = await openRunner(moderation, path);
    const golden = readGolden("tiny-official", "moderation-bert", "golden.json");
    const { results } = (await runner.answer({ input: golden.texts })) as {
      results: { category_scores: Record<string, number>; flagged: boolean }[];
    };
    for (const [at, [toxic, severe, obscene, threat, insult, hate]] of golden.sigmoid.entries()) {
      const scores = results[at]?.category_scores ?? {};
      expect(scores["harassment"]).toBeCloseTo(Math.max(toxic, severe, obscene, insult), 5);
      expect(scores["violence"]).toBeCloseTo(threat, 5);
      expect(scores["hate"]).toBeCloseTo(hate, 5);
      expect(scores["sexual/minors"]).toBe(0);
    }
    const long = `${"fine words ".repeat(2_000)}${golden.texts[1]}`;
    expect((await runner.run({ input: long })).results[0]?.scores[0]).toBeGreaterThan(0);
    await expect(runner.run({ input: await picture("#ff0000") })).rejects.toThrow(
      /judges texts only/,
    );
    await runner.close();
  });

  // Upstream's seven labels and the graph's own probabilities (golden.json), to 1e-6.
  test("finds profanity as profanity-check does, 7 of 7", async () => {
    const runner = await openRunner(
      moderation,
      (await addedModel("moderation-profanity-check")).path,
    );
    const golden = readGolden("moderation-profanity-check", "golden.json");
    const input = golden.map(({ text }: { text: string }) => text);
    const { results } = (await runner.answer({ input })) as {
      results: { flagged: boolean; category_scores: Record<string, number> }[];
    };
    golden.forEach(
      (expected: { probability: number; upstream_expected_label: number }, at: number) => {
        expect(results[at]?.category_scores["harassment"]).toBeCloseTo(expected.probability, 6);
        expect(results[at]?.flagged).toBe(expected.upstream_expected_label === 1);
      },
    );
    await runner.close();
  });
});

describe("moderation of pictures", () => {
  test("reads a picture as its preprocessor says and names the input type", async () => {
    const runner = await openRunner(moderation, makePictureClassifier(["nsfw", "gore", "sfw"]));
    const scoreOf = async (colour: string) => {
      const { results } = await runner.run({ input: await picture(colour) });
      return results[0];
    };
    // Logits are 1 and −1 where a colour is full and absent: (byte / 255 − 0.5) / 0.5.
    const share = Math.exp(1) / (Math.exp(1) + 2 * Math.exp(-1));
    expect((await scoreOf("#ff0000"))?.scores[9]).toBeCloseTo(share, 5);
    const green = await scoreOf("#00ff00");
    expect(green?.scores[12]).toBeCloseTo(share, 5);
    expect(green?.appliedTypes[12]).toEqual(["image"]);
    expect(green?.appliedTypes[0]).toEqual([]);
    await expect(runner.run({ input: "text" })).rejects.toThrow(/judges no texts/);
    await runner.close();
  });
});

async function picture(background: string) {
  const create = { width: 64, height: 64, channels: 3, background } as const;
  const bytes = await sharp({ create }).png().toBuffer();
  const url = `data:image/png;base64,${bytes.toString("base64")}`;
  return [{ type: "image_url", image_url: { url } }];
}

describeWithModels("reading texts word by word", () => {
  test.each([
    "tokenizers/bert-base-uncased",
    "tokenizers/t5-small",
    "tiny-official/embed-bert",
    "embed-model2vec-fixtures/test-model-vocab-quantized",
    "tokenizers/roberta-base",
  ])("gives the ids of the whole text with %s", async (name) => {
    const tokenizer = await loadTextTokenizer({
      tokenizer: publishedModel(name, "tokenizer.json"),
    });
    const { contentOf } = createSequenceTokenizer(tokenizer);
    const word = fc.oneof(
      fc.constantFrom(
        "Hello",
        "wörld!",
        "北京",
        "ﬁne",
        "x_y",
        "don't",
        "ΣΑΣ",
        "🙂",
        "...",
        "x▁y",
        "[MASK]",
        "</s>",
        "a\u0301",
      ),
      fc.string({ unit: "grapheme", maxLength: 12 }),
    );
    const space = fc.constantFrom(" ", "  ", "\n", "\t", " \r\n ", "");
    fc.assert(
      fc.property(fc.array(fc.tuple(word, space), { maxLength: 12 }), (parts) => {
        const text = parts.flat().join("");
        const whole = tokenizer.encode(text, { addSpecialTokens: false }).ids;
        expect([...contentOf(text)]).toEqual(whole);
      }),
      // Two cuts of "hello" are equally likely: what stands before it decides between them.
      {
        numRuns: 150,
        examples: [
          [
            [
              ["!", " "],
              ["ѕ", ""],
              ["Hello", " "],
            ],
          ],
        ],
      },
    );
  });
});

describeWithModels("client libraries", () => {
  let runners: Record<string, Runner<never, never>>;
  let server: Awaited<ReturnType<typeof serveRunners>>;
  beforeAll(async () => {
    const open = async (modality: unknown, name: string) =>
      openRunner(modality as typeof embeddings, (await addedModel(name)).path) as never;
    const pairs = await open(rerank, "tiny-official/rerank-bert");
    runners = {
      "/v1/embeddings": await open(embeddings, "tiny-official/embed-bert"),
      "/v1/moderations": await open(moderation, "moderation-profanity-check"),
      "/v1/rerank": pairs,
      "/v2/rerank": pairs,
    };
    server = await serveRunners(runners);
  });
  afterAll(async () => {
    await server.close();
    for (const runner of new Set(Object.values(runners))) await runner.close();
  });

  test("openai reads embeddings as floats and as base64, and moderations", async () => {
    const client = new OpenAI({ baseURL: `${server.url}/v1`, apiKey: "x", maxRetries: 0 });
    const input = ["one", "two words"];
    const packed = await client.embeddings.create({ model: "m", input });
    const plain = await client.embeddings.create({ model: "m", input, encoding_format: "float" });
    expect(packed.data[1]?.embedding).toHaveLength(32);
    expect([...(packed.data[1]?.embedding ?? [])]).toEqual(plain.data[1]?.embedding);
    expect(plain.usage).toEqual({ prompt_tokens: 7, total_tokens: 7 });
    const judged = await client.moderations.create({ input: ["fuck you", "hello there"] });
    expect(judged.results.map(({ flagged }) => flagged)).toEqual([true, false]);
    expect(judged.results[0]?.category_applied_input_types.harassment).toEqual(["text"]);
    const refused = client.embeddings.create({ model: "m", input: "" });
    await expect(refused).rejects.toMatchObject({ status: 400, param: "input" });
  });

  test("cohere's V2 client reads ranked results", async () => {
    const client = new CohereClientV2({ environment: server.url, token: "x" });
    const documents = ["Paris is the capital of France.", "Bananas are yellow."];
    const query = "What is the capital of France?";
    const { results, meta, id } = await client.rerank({ model: "m", query, documents, topN: 1 });
    expect(results).toEqual([{ index: 0, relevanceScore: expect.closeTo(0.51981, 4) }]);
    expect(id).toMatch(/^rerank_/);
    expect(meta).toMatchObject({ apiVersion: { version: "2" }, billedUnits: { searchUnits: 1 } });
    const tooMany = client.rerank({ model: "m", query, documents: Array(10_000).fill("a") });
    await expect(tooMany).rejects.toMatchObject({ statusCode: 400 });
  });
});
