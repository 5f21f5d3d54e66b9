import { describe, expect, test } from "vitest";
import type { AdmitContext, ModelInfo } from "#framemill/core/modality.js";
import { embeddings } from "#framemill/modalities/embeddings/index.js";
import { CATEGORIES } from "#framemill/modalities/moderation/request.js";
import { moderation } from "#framemill/modalities/moderation/index.js";
import { mapLabels, scoreCategories } from "#framemill/modalities/moderation/labels.js";
import { cutPieces, cutWindows } from "#framemill/modalities/moderation/classifiers.js";
import { rerank } from "#framemill/modalities/rerank/index.js";
import { rank } from "#framemill/modalities/rerank/answer.js";

const model: ModelInfo = {
  id: "m",
  modality: "embeddings",
  createdAtSeconds: 0,
  concurrency: 32,
  contextTokens: 16,
  dimensions: 8,
};
const saved: Uint8Array[] = [];
const context = (path: string): AdmitContext => ({
  model,
  path,
  async saveInput(bytes, mediaType) {
    saved.push(bytes);
    return { id: "a", variant: "input", mediaType, byteLength: bytes.byteLength, sha256: "" };
  },
  findEarlier: async () => undefined,
});
const v1 = context("/v1/rerank");

describe("embeddings", () => {
  const admit = (body: object) =>
    embeddings.admit({ model: "m", ...body }, context("/v1/embeddings"));

  test.each([
    ["a text", "hello", ["hello"]],
    ["texts", ["a", "b"], ["a", "b"]],
    ["token ids", [1, 2], [[1, 2]]],
    ["lists of token ids", [[1], [2, 3]], [[1], [2, 3]]],
  ])("takes %s", async (_, input, inputs) => {
    expect(await admit({ input })).toMatchObject({ inputs, encodingFormat: "float" });
  });

  test.each([
    [{}, "missing_required_parameter", "input"],
    [{ input: "" }, "invalid_value", "input"],
    [{ input: [] }, "invalid_value", "input"],
    [{ input: ["a", ""] }, "invalid_value", "input.1"],
    [{ input: ["a", 1] }, "invalid_value", "input.1"],
    [{ input: [[1], []] }, "invalid_value", "input.1"],
    [{ input: [1.5] }, "invalid_value", "input"],
    [{ input: Array(2_049).fill("a") }, "invalid_value", "input"],
    [{ input: Array(17).fill(1) }, "context_length_exceeded", "input"],
    [{ input: "a", dimensions: 9 }, "invalid_value", "dimensions"],
    [{ input: "a", encoding_format: "int8" }, "invalid_value", "encoding_format"],
    [{ input: "a", colour: 1 }, "unknown_parameter", "colour"],
  ])("refuses %j", async (body, code, param) => {
    await expect(admit(body)).rejects.toMatchObject({ code, param, httpStatus: 400 });
  });

  test("names the tokens and the limit of an input that is too long", async () => {
    await expect(admit({ input: Array(17).fill(1) })).rejects.toThrow(/16 tokens.*17 tokens/);
  });
});

describe("rerank", () => {
  const body = { model: "m", query: "q", documents: ["a", { text: "b", page: 2 }, "c"] };
  const output = { scores: [0.5, 0.9, 0.5], totalTokens: 30, chunks: 3 };

  test("returns documents on /v1, not on /v2, and as the caller says", async () => {
    const v2 = context("/v2/rerank");
    expect(await rerank.admit(body, v1)).toMatchObject({ returnDocuments: true, apiVersion: "1" });
    expect(await rerank.admit(body, v2)).toMatchObject({ returnDocuments: false, apiVersion: "2" });
    const explicit = await rerank.admit({ ...body, return_documents: true }, v2);
    expect(explicit.returnDocuments).toBe(true);
  });

  test("sorts by score, then by place, and keeps a document's further fields", async () => {
    const request = await rerank.admit({ ...body, top_n: 2 }, v1);
    expect(rank(request, output)).toEqual([
      { index: 1, relevance_score: 0.9, document: { text: "b", page: 2 } },
      { index: 0, relevance_score: 0.5, document: { text: "a" } },
    ]);
  });

  test.each([
    [{ query: " " }, "query"],
    [{ documents: [] }, "documents"],
    [{ documents: Array(10_000).fill("a") }, "documents"],
    [{ documents: ["a", 1] }, "documents.1"],
    [{ top_n: 0 }, "top_n"],
    [{ rank_fields: ["title"] }, "rank_fields"],
  ])("refuses %j", async (change, param) => {
    await expect(rerank.admit({ ...body, ...change }, v1)).rejects.toMatchObject({
      code: "invalid_value",
      param,
    });
  });

  test("counts a search for every 100 documents of 500 tokens, and reserves no less", async () => {
    const documents = Array(150).fill("x".repeat(900));
    const request = await rerank.admit({ ...body, documents }, v1);
    const { contextTokens: _, ...unbounded } = model;
    expect(rerank.countUnits(request, { ...output, chunks: 150 })).toEqual({ searches: 2 });
    expect(rerank.mostUnits(request, model)).toEqual({ searches: 2 });
    expect(rerank.mostUnits(request, unbounded)).toEqual({ searches: 3 });
  });
});

describe("moderation", () => {
  const admit = (input: unknown) => moderation.admit({ input }, context("/v1/moderations"));
  const image = (url: string) => [{ type: "image_url", image_url: { url } }];

  test("judges texts one by one and parts in one batch", async () => {
    expect((await admit(["a", "b"])).inputs).toHaveLength(2);
    const parts = [
      { type: "text", text: "a" },
      { type: "text", text: "b" },
    ];
    expect((await admit(parts)).inputs).toEqual([parts]);
  });

  test("fetches no picture, and keeps none of a refused request", async () => {
    await expect(admit(image("https://example.com/a.png"))).rejects.toMatchObject({
      code: "invalid_image_url",
      param: "input.0.image_url.url",
    });
    await expect(admit(image("data:image/png;base64,AAAA"))).rejects.toMatchObject({
      code: "invalid_image_format",
    });
    await expect(admit([{ type: "sound" }])).rejects.toMatchObject({ param: "input.0.type" });
    expect(saved).toEqual([]);
  });

  test("maps labels of known models, takes an operator's own and refuses unknown ones", () => {
    const letters = mapLabels(["S", "H2", "OK"]);
    expect(letters).toEqual([["sexual"], ["hate/threatening"], []]);
    expect(mapLabels(["self-harm/intent", "harassment_threatening"])).toEqual([
      ["self-harm/intent"],
      ["harassment/threatening"],
    ]);
    expect(mapLabels(["LABEL_0"], { LABEL_0: ["illicit"] })).toEqual([["illicit"]]);
    expect(() => mapLabels(["LABEL_0"])).toThrow("the label LABEL_0 is not known");
    expect(() => mapLabels(["safe"])).toThrow("none of the labels safe");
    const scores = scoreCategories(letters, [0.2, 0.7, 0.1]);
    expect(scores[CATEGORIES.indexOf("hate/threatening")]).toBe(0.7);
    expect(Math.max(...scores.filter((_, at) => CATEGORIES[at] === "violence"))).toBe(0);
  });

  test("names the categories that forbid a prompt", () => {
    const scores = CATEGORIES.map((category) => (category === "hate" ? 0.6 : 0.1));
    const result = { scores, appliedTypes: CATEGORIES.map(() => ["text"] as const) };
    const output = { results: [result], thresholds: CATEGORIES.map(() => 0.5), inputTokens: 3 };
    expect(moderation.judge?.flagged(output)).toEqual(["hate"]);
    const many = moderation.judge?.body("m", Array(3_000).fill("a"));
    expect(many?.["input"]).toHaveLength(1_000);
  });

  test("leaves no part of a long text out", () => {
    const text = Array.from({ length: 5_000 }, (_, index) => `word${index}`).join(" ");
    const pieces = cutPieces(text);
    expect(pieces.length).toBeGreaterThan(1);
    const words = new Set(pieces.flatMap((piece) => piece.split(" ")));
    for (let index = 0; index < 5_000; index += 1) expect(words.has(`word${index}`)).toBe(true);
    expect(cutPieces("x".repeat(50_000)).join("").length).toBeGreaterThanOrEqual(50_000);
    const windows = cutWindows(
      Int32Array.from({ length: 1_000 }, (_, id) => id),
      100,
    );
    expect(new Set(windows.flatMap((window) => [...window])).size).toBe(1_000);
    expect(windows.every((window) => window.length === 100)).toBe(true);
  });
});
