import { CohereClientV2 } from "cohere-ai";
import OpenAI from "openai";
import sharp from "sharp";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { addModel } from "#framemill/models/add-model.js";
import type { ModelPackage } from "#framemill/runtime/packages/model-package.js";
import { embeddings } from "#framemill/modalities/embeddings/index.js";
import type { EmbeddingsOutput } from "#framemill/modalities/embeddings/request.js";
import { moderation } from "#framemill/modalities/moderation/index.js";
import { rerank } from "#framemill/modalities/rerank/index.js";
import { distance, unit, vectorsOf } from "../../support/embedding-vectors.js";
import { createModelFolders, type ModelFiles } from "../../support/model-folders.js";
import { openRunner, type Runner, serveRunners } from "../../support/one-process.js";
import { makePictureClassifier } from "../../support/picture-classifier.js";
import {
  classifierFiles,
  embedderFiles,
  meanVector,
  rerankerFiles,
  wordIds,
} from "../../support/tiny-encoder.js";
import { profanityFiles, staticFiles, staticVector } from "../../support/tiny-word-models.js";

/** Sums of a few float32 numbers below 1000, made to unit length. */
const TOLERANCE = 1e-6;

const folders = createModelFolders();
const { modelsDir } = folders;
afterAll(() => folders.remove());
let added = 0;

function add(files: ModelFiles, options: { pooling?: string } = {}): Promise<ModelPackage> {
  const source = folders.write(`source-${(added += 1)}`, files);
  return addModel(source, { modelsDir, id: `model-${added}`, ...options });
}

const sigmoid = (logit: number) => 1 / (1 + Math.exp(-logit));

/** As the hub's ONNX repositories hold it: a graph, a tokenizer and a configuration. */
function withoutPooling(embedder: Parameters<typeof embedderFiles>[0] = {}): ModelFiles {
  const {
    "1_Pooling/config.json": _pooling,
    "modules.json": _modules,
    ...files
  } = embedderFiles(embedder);
  return files;
}

type Embedder = Runner<unknown, EmbeddingsOutput>;

describe("embeddings", () => {
  const TEXTS = ["The cats sat", "A dog.", "the MOON", "running"];
  const IDS = ["the cat ##s sat", "a dog .", "the moon", "ran"].map(wordIds);
  // "running" is no "ran" with an ending.
  IDS[3] = [2, 1, 3];

  const decoder = {
    architecture: "Qwen3ForCausalLM",
    hasTypes: false,
    hasPositions: true,
    hasCaches: true,
  };

  const firstToken = (ids: readonly number[]) => [2, 1, meanVector(ids)[2] ?? 0, 1];
  const lastToken = (ids: readonly number[]) => [3, ids.length, meanVector(ids)[2] ?? 0, 1];

  test.each([
    ["BERT, the mean of its tokens", embedderFiles(), (ids: number[]) => unit(meanVector(ids))],
    [
      "BERT, its first token, without a Normalize module",
      embedderFiles({ pooling: "pooling_mode_cls_token", normalises: false }),
      (ids: number[]) => unit(firstToken(ids)),
    ],
    [
      "BERT, its first token as sentence-transformers 6 writes it",
      embedderFiles({ pooling: { embedding_dimension: 4, pooling_mode: "cls" } }),
      (ids: number[]) => unit(firstToken(ids)),
    ],
    [
      "a model without types that was exported with its pooling",
      embedderFiles({ hasTypes: false, isPooled: true }),
      (ids: number[]) => unit(meanVector(ids)),
    ],
    [
      "a decoder with caches, its last token",
      embedderFiles({ ...decoder, pooling: "pooling_mode_lasttoken" }),
      (ids: number[]) => unit(lastToken(ids)),
    ],
  ])("are those of %s, alone, in a batch and from ids", async (_, files, vectorOf) => {
    const model = await add(files);
    expect(model).toMatchObject({
      modality: "embeddings",
      pipeline: "encoder",
      shapes: { dimensions: 4 },
      limits: { contextTokens: 256 },
    });
    const roles = ["encoder", "config", "tokenizer", "tokenizer-config"];
    const further = ["pooling-config", "modules", "sentence-config"];
    expect(Object.keys(model.files).toSorted()).toEqual([...roles, ...further].toSorted());
    const runner = await openRunner(embeddings, model.path);
    const batched = await runner.run({ input: TEXTS });
    expect(batched.inputTokens).toBe(IDS.flat().length);
    const fromIds = vectorsOf(await runner.run({ input: IDS }));
    for (const [at, ids] of IDS.entries()) {
      const alone = vectorsOf(await runner.run({ input: TEXTS[at] }))[0] ?? [];
      for (const vector of [alone, vectorsOf(batched)[at] ?? [], fromIds[at] ?? []])
        expect(distance(vector, vectorOf(ids))).toBeLessThan(TOLERANCE);
    }
    await runner.close();
  });

  test.each([
    ["of a decoder are its last token's", withoutPooling(decoder), {}, lastToken],
    [
      "of a bge, told by its card, are its first token's",
      { ...withoutPooling(), "README.md": "# bge-small-en-v1.5" },
      {},
      (ids: number[]) => unit(firstToken(ids)),
    ],
    ["of a model that nothing is known of are means", withoutPooling(), {}, meanVector],
    ["are as --pooling says", embedderFiles(), { pooling: "last" }, lastToken],
  ])("of the hub's ONNX folders %s", async (_, files, options, vectorOf) => {
    const runner = await openRunner(embeddings, (await add(files, options)).path);
    const found = vectorsOf(await runner.run({ input: TEXTS }));
    for (const [at, ids] of IDS.entries())
      expect(distance(found[at] ?? [], unit(vectorOf(ids)))).toBeLessThan(TOLERANCE);
    await runner.close();
  });

  test.each([
    ["whose tokens share rows and have weights", true],
    ["of one row a token", false],
  ])("are the mean of a static table %s", async (_, isQuantised) => {
    const model = await add(staticFiles({ isQuantised }));
    expect(model).toMatchObject({
      modality: "embeddings",
      pipeline: "model2vec",
      shapes: { dimensions: 3 },
    });
    const runner = await openRunner(embeddings, model.path);
    const input = ["The cats sat", "the unknown moon!", "the ".repeat(600), "unknown"];
    const [first = [], second = [], third = [], none = []] = vectorsOf(await runner.run({ input }));
    const expected = ["▁the ▁cat s ▁sat", "▁the ▁moon ▁!", "▁the"].map((tokens) =>
      unit(staticVector(tokens.split(" "))),
    );
    for (const [at, vector] of [first, second, third].entries())
      expect(distance(vector, expected[at] ?? [])).toBeLessThan(TOLERANCE);
    expect(none).toEqual([0, 0, 0]);
    await runner.close();
  });

  describe("of a model with prompts", () => {
    const PROMPTS = { query: "what is ", document: "", clusters: "the capital of " };
    const withPrompts = (default_prompt_name: string | null, include_prompt = true) => ({
      ...embedderFiles({ pooling: { pooling_mode: "mean", include_prompt } }),
      "config_sentence_transformers.json": { prompts: PROMPTS, default_prompt_name },
    });
    const open = async (files: ModelFiles) => openRunner(embeddings, (await add(files)).path);
    const input = "the cat";

    test.each([
      ["query", "what is the cat"],
      ["search_query", "what is the cat"],
      ["document", "the cat"],
      ["passage", "the cat"],
      ["classification", "the cat"],
      ["clusters", "the capital of the cat"],
      [undefined, "what is the cat"],
    ])("are of the text behind its prompt, for the type %s", async (input_type, whole) => {
      const runner = await open(withPrompts("query"));
      const output = await runner.run({ input, input_type });
      expect(output.inputTokens).toBe(wordIds(whole).length);
      const [vector = []] = vectorsOf(output);
      expect(distance(vector, unit(meanVector(wordIds(whole))))).toBeLessThan(TOLERANCE);
      const ids = await runner.run({ input: wordIds(input) });
      expect(ids.inputTokens).toBe(wordIds(input).length);
      await runner.close();
    });

    test("leave the prompt's tokens out of the mean where include_prompt is false", async () => {
      const runner = await open(withPrompts(null, false));
      const ids = wordIds("what is the cat");
      // What is read is the whole; pooled are the states behind [CLS] what is.
      const states = ids.map((id, at) => [id, at + 1, meanVector(ids)[2] ?? 0, 1]).slice(3);
      const mean = [0, 1, 2, 3].map(
        (lane) => states.reduce((sum, state) => sum + (state[lane] ?? 0), 0) / states.length,
      );
      const output = await runner.run({ input, input_type: "query" });
      expect(output.inputTokens).toBe(ids.length);
      expect(distance(vectorsOf(output)[0] ?? [], unit(mean))).toBeLessThan(TOLERANCE);
      const [plain = []] = vectorsOf(await runner.run({ input }));
      expect(distance(plain, unit(meanVector(wordIds(input))))).toBeLessThan(TOLERANCE);
      await runner.close();
    });

    test("refuse a type that is none, and token ids with one", async () => {
      const runner = await open(withPrompts(null));
      await expect(runner.run({ input, input_type: "toString" })).rejects.toMatchObject({
        code: "invalid_value",
        param: "input_type",
        message:
          'input_type must be one of query, document, clusters, search_query, search_document, passage, classification, clustering, got "toString"',
      });
      const ids = runner.run({ input: [5, 6], input_type: "query" });
      await expect(ids).rejects.toMatchObject({
        param: "input_type",
        message: "input_type is for texts: token ids take no prompt before them",
      });
      await runner.close();
    });

    test("are refused where a default prompt is missing, or a graph pools prompts that are to be left out", async () => {
      await expect(add(withPrompts("nothing"))).rejects.toThrow(
        /config_sentence_transformers\.json: default_prompt_name must be one of query, document, clusters, got nothing/,
      );
      const files = {
        ...withPrompts(null, false),
        "onnx/model.onnx": embedderFiles({ isPooled: true })["onnx/model.onnx"] ?? {},
      };
      await expect(open(files)).rejects.toThrow("1_Pooling leaves prompts out (include_prompt)");
    });
  });

  describe("of one BERT", () => {
    let bert: Embedder;
    let onRun = () => {};
    beforeAll(async () => {
      const { path } = await add(embedderFiles());
      bert = await openRunner(embeddings, path, { onRun: () => onRun() });
    });
    afterAll(() => bert.close());

    test("are shortened to unit length when fewer dimensions are asked for", async () => {
      const [short = []] = vectorsOf(await bert.run({ input: "the cat", dimensions: 2 }));
      const [first = 0, second = 0] = meanVector(wordIds("the cat"));
      expect(distance(short, unit([first, second]))).toBeLessThan(TOLERANCE);
    });

    test("refuse a text that is too long and ids that are not in the vocabulary", async () => {
      await expect(bert.run({ input: ["a", "cat ".repeat(300)] })).rejects.toMatchObject({
        code: "context_length_exceeded",
        message:
          "This model's maximum context length is 256 tokens. However, input 1 has 302 tokens.",
        param: "input",
      });
      await expect(bert.run({ input: [30_522] })).rejects.toMatchObject({ param: "input" });
    });

    test("end at once when they are cancelled", async () => {
      const abort = new AbortController();
      let runs = 0;
      onRun = () => {
        runs += 1;
        abort.abort(new Error("cancelled"));
      };
      // 1 000 texts of 102 tokens: a hundred batches of 1 024 tokens.
      const input = Array.from({ length: 1_000 }, () => "cat ".repeat(100));
      await expect(bert.run({ input }, abort.signal)).rejects.toThrow("cancelled");
      expect(vectorsOf(await bert.run({ input: "the cat" }))).toHaveLength(1);
      expect(runs).toBeLessThan(50);
    });
  });
});

describe("a reranker", () => {
  const query = "what is the capital of france";
  const documents = ["Paris is the capital of France.", "A fool sat on the moon", "running"];
  /** Words that a document shares with the query. */
  const shared = [5, 1, 0];

  test.each([
    ["one label", 1],
    ["two labels", 2],
  ] as const)("of %s scores pairs by its formula", async (_, labels) => {
    const model = await add(rerankerFiles(labels));
    expect([model.modality, model.pipeline]).toEqual(["rerank", "encoder"]);
    const runner = await openRunner(rerank, model.path);
    const { scores, ...counted } = await runner.run({ query, documents });
    expect(distance(scores, shared.map(sigmoid))).toBeLessThan(TOLERANCE);
    // [CLS] query [SEP] document [SEP], and a document of one unknown word.
    expect(counted).toEqual({ totalTokens: 3 * (6 + 3) + 7 + 6 + 1, chunks: 3 });
    await runner.close();
  });

  test("cuts documents to what is asked for, and to what the model reads", async () => {
    const runner = await openRunner(rerank, (await add(rerankerFiles())).path);
    const long = `a dog ran ${"paris ".repeat(400)} ${"france ".repeat(400)}`;
    const few = await runner.run({ query, documents: [long], max_tokens_per_doc: 403 });
    expect(few.scores[0]).toBeCloseTo(0.5, 6);
    const more = await runner.run({ query, documents: [long], max_tokens_per_doc: 404 });
    expect(more.scores[0]).toBeCloseTo(sigmoid(1), 6);
    expect((await runner.run({ query, documents: [long] })).totalTokens).toBe(512);
    await runner.close();
  });
});

interface Judged {
  readonly results: readonly {
    readonly category_scores: Readonly<Record<string, number>>;
    readonly flagged: boolean;
  }[];
}

async function judge(model: ModelPackage, input: unknown) {
  const runner = await openRunner(moderation, model.path);
  try {
    // Its answer is OpenAI's list of results.
    return ((await runner.answer({ input })) as unknown as Judged).results;
  } finally {
    await runner.close();
  }
}

describe("moderation", () => {
  const JIGSAW = {
    toxic: ["fool"],
    severe_toxic: [],
    obscene: [],
    threat: ["hurt"],
    insult: ["you"],
    identity_hate: ["france"],
  };

  test("judges labels each for itself and maps them to categories", async () => {
    const model = await add(classifierFiles(JIGSAW));
    expect([model.modality, model.pipeline]).toEqual(["moderation", "encoder"]);
    const long = `${"the dog ran on ".repeat(500)} you fool`;
    const results = await judge(model, ["the moon", "you fool", "hurt hurt paris", long]);
    const [fine, bad, twice] = [-2, 2, 6].map(sigmoid);
    expect(results.map(({ flagged }) => flagged)).toEqual([false, true, true, true]);
    const expected = [
      { harassment: fine, violence: fine, hate: fine },
      { harassment: bad, violence: fine, hate: fine },
      { harassment: fine, violence: twice, hate: fine },
      // Read window by window: the worst of them counts.
      { harassment: bad, violence: fine, hate: fine },
    ];
    for (const [at, scores] of expected.entries())
      for (const [category, score] of Object.entries({ ...scores, "sexual/minors": 0 }))
        expect(results[at]?.category_scores[category]).toBeCloseTo(score ?? Number.NaN, 6);
  });

  test("judges labels that exclude one another by their share", async () => {
    const labels = { safe: [], toxic: ["fool"] };
    const model = await add(classifierFiles(labels, "single_label_classification"));
    const [result] = await judge(model, "you fool");
    expect(result?.category_scores["harassment"]).toBeCloseTo(sigmoid(4), 6);
  });

  test("counts words as profanity-check does", async () => {
    const model = await add(profanityFiles(["fool", "scum"]));
    expect(model).toMatchObject({
      modality: "moderation",
      pipeline: "bag-of-words",
      shapes: { words: 4 },
    });
    const results = await judge(model, ["hello there", "FoOl!", "fools", "you scum, you fool"]);
    expect(results.map(({ flagged }) => flagged)).toEqual([false, true, false, true]);
    for (const [at, logit] of [-2, 2, -2, 6].entries())
      expect(results[at]?.category_scores["harassment"]).toBeCloseTo(sigmoid(logit), 6);
  });

  test("of texts judges no pictures", async () => {
    const runner = await openRunner(moderation, (await add(profanityFiles(["fool"]))).path);
    const input = await picture("#ff0000");
    await expect(runner.run({ input })).rejects.toThrow(/judges texts only/);
    await runner.close();
  });

  test("of pictures reads them as the preprocessor says and names the input type", async () => {
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

describe("client libraries", () => {
  let runners: Record<string, Runner<never, never>>;
  let server: Awaited<ReturnType<typeof serveRunners>>;
  beforeAll(async () => {
    const open = async (modality: unknown, files: ModelFiles) =>
      openRunner(modality as typeof embeddings, (await add(files)).path) as never;
    const pairs = await open(rerank, rerankerFiles());
    runners = {
      "/v1/embeddings": await open(embeddings, embedderFiles()),
      "/v1/moderations": await open(moderation, profanityFiles(["fool"])),
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
    const input = ["a", "the cat"];
    const packed = await client.embeddings.create({ model: "m", input });
    const plain = await client.embeddings.create({ model: "m", input, encoding_format: "float" });
    const found = [...(packed.data[1]?.embedding ?? [])];
    expect(distance(found, unit(meanVector(wordIds("the cat"))))).toBeLessThan(TOLERANCE);
    expect(found).toEqual(plain.data[1]?.embedding);
    expect(plain.usage).toEqual({ prompt_tokens: 7, total_tokens: 7 });
    const judged = await client.moderations.create({ input: ["you fool", "hello there"] });
    expect(judged.results.map(({ flagged }) => flagged)).toEqual([true, false]);
    expect(judged.results[0]?.category_applied_input_types.harassment).toEqual(["text"]);
    const refused = client.embeddings.create({ model: "m", input: "" });
    await expect(refused).rejects.toMatchObject({ status: 400, param: "input" });
  });

  test("cohere's V2 client reads ranked results", async () => {
    const client = new CohereClientV2({ environment: server.url, token: "x" });
    const documents = ["The dog ran.", "Paris is the capital of France."];
    const query = "What is the capital of France?";
    const { results, meta, id } = await client.rerank({ model: "m", query, documents, topN: 1 });
    expect(results).toEqual([{ index: 1, relevanceScore: expect.closeTo(sigmoid(5), 6) }]);
    expect(id).toMatch(/^rerank_/);
    expect(meta).toMatchObject({ apiVersion: { version: "2" }, billedUnits: { searchUnits: 1 } });
    const tooMany = client.rerank({ model: "m", query, documents: Array(10_000).fill("a") });
    await expect(tooMany).rejects.toMatchObject({ statusCode: 400 });
  });
});
