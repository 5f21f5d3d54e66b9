import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, test } from "vitest";
import { chat } from "#framemill/modalities/chat/index.js";
import { embeddings } from "#framemill/modalities/embeddings/index.js";
import { moderation } from "#framemill/modalities/moderation/index.js";
import { rerank } from "#framemill/modalities/rerank/index.js";
import { addModel } from "#framemill/models/add-model.js";
import { openRunner } from "../../support/one-process.js";

const PUBLISHED = fileURLToPath(new URL("../../fixtures/published", import.meta.url));
const modelsDir = mkdtempSync(join(tmpdir(), "framemill-causal-"));
let count = 0;
afterAll(() => rmSync(modelsDir, { recursive: true, force: true }));

interface Golden {
  readonly add?: { readonly as?: string };
  readonly tolerance: number;
  readonly cases: readonly { readonly request: object; readonly expected: unknown }[];
}

/** A tiny export with random weights, and what PyTorch makes of its requests. */
async function openRow(row: string) {
  const golden = JSON.parse(readFileSync(join(PUBLISHED, row, "golden.json"), "utf8")) as Golden;
  const { as: modality } = golden.add ?? {};
  const options = {
    modelsDir,
    id: `${row}-${(count += 1)}`,
    ...(modality !== undefined && { modality }),
  };
  return { golden, model: await addModel(join(PUBLISHED, row, "model"), options) };
}

describe("a causal language model that ranks", () => {
  test.each(["rerank-qwen-3", "rerank-qwen-3-without-cache", "rerank-qwen-3-scores"])(
    "scores each document as PyTorch does, alone and among others: %s",
    async (row) => {
      const { golden, model } = await openRow(row);
      const runner = await openRunner(rerank, model.path);
      for (const { request, expected } of golden.cases) {
        const { scores } = await runner.run(request);
        for (const [at, score] of (expected as { scores: number[] }).scores.entries())
          expect(Math.abs((scores[at] ?? Number.NaN) - score)).toBeLessThan(golden.tolerance);
        const { documents } = request as { documents: string[] };
        const alone = await runner.run({ ...request, documents: documents.slice(1, 2) });
        expect(alone.scores[0]).toBeCloseTo(scores[1] ?? Number.NaN, 4);
      }
      await runner.close();
    },
  );

  test("bounds what it reads of long texts by its context, and counts it", async () => {
    const { model } = await openRow("rerank-qwen-3");
    const runner = await openRunner(rerank, model.path);
    const long = "a river and a boat ".repeat(2_000);
    const { totalTokens, chunks } = await runner.run({ query: long, documents: [long, "short"] });
    expect(totalTokens).toBeGreaterThan(1_024);
    expect(totalTokens).toBeLessThanOrEqual(2 * 1_024);
    expect(chunks).toBe(3);
    await runner.close();
  });
});

describe("a causal language model that writes", () => {
  test.each([
    ["chat-smolvlm", "two graphs"],
    ["chat-qwen2-vl", "two graphs, positions of three axes"],
    ["chat-gemma-3n", "two graphs, inputs of each layer"],
    ["genai-qwen-3", "GenAI's builder, fp32"],
    ["genai-qwen-3-int4", "GenAI's builder, int4"],
  ])("goes on greedily as its reference does: %s, %s", async (row) => {
    const { golden, model } = await openRow(row);
    const runner = await openRunner(chat, model.path);
    const answers = await Promise.all(golden.cases.map(({ request }) => runner.answer(request)));
    for (const [at, { expected }] of golden.cases.entries()) {
      const { content, promptTokens, firstLogprob } = expected as Written;
      const { choices, usage } = answers[at] as unknown as Answered;
      expect(choices[0]?.message.content).toBe(content);
      expect(usage.prompt_tokens).toBe(promptTokens);
      const [first] = choices[0]?.logprobs.content ?? [];
      expect(first?.logprob).toBeCloseTo(firstLogprob, 3);
    }
    await runner.close();
  });

  test("and also sees serves its text, and refuses a picture in one sentence", async () => {
    const { model } = await openRow("chat-smolvlm");
    const runner = await openRunner(chat, model.path);
    const picture = { type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } };
    await expect(
      runner.answer({ messages: [{ role: "user", content: [picture] }] }),
    ).rejects.toThrow("do not read image_url parts");
    await runner.close();
  });
});

interface Written {
  readonly content: string;
  readonly firstLogprob: number;
  readonly promptTokens: number;
}

interface Answered {
  readonly choices: readonly {
    readonly message: { readonly content: string };
    readonly logprobs: { readonly content: readonly { readonly logprob: number }[] };
  }[];
  readonly usage: { readonly prompt_tokens: number };
}

describe("a causal language model that embeds", () => {
  test.each(["embed-qwen-3-hub", "embed-qwen-3-with-past"])(
    "gives the vectors of PyTorch, without caches and with caches to fill: %s",
    async (row) => {
      const { golden, model } = await openRow(row);
      const runner = await openRunner(embeddings, model.path);
      for (const { request, expected } of golden.cases) {
        const { data } = (await runner.answer(request)) as unknown as Embedded;
        for (const [at, vector] of (expected as { vectors: number[][] }).vectors.entries())
          expect(cosine(data[at]?.embedding ?? [], vector)).toBeGreaterThan(0.9999);
      }
      await runner.close();
    },
  );
});

interface Embedded {
  readonly data: readonly { readonly embedding: readonly number[] }[];
}

/** Of vectors of length 1. */
function cosine(first: readonly number[], second: readonly number[]): number {
  return first.reduce((sum, value, at) => sum + value * (second[at] ?? 0), 0);
}

describe("a causal language model that guards", () => {
  test.each(["moderate-llama-guard", "moderate-shieldgemma", "moderate-granite-guardian"])(
    "gives each category the score that PyTorch gives its labels: %s",
    async (row) => {
      const { golden, model } = await openRow(row);
      const runner = await openRunner(moderation, model.path);
      for (const { request, expected } of golden.cases) {
        const { results } = (await runner.answer(request)) as unknown as Moderated;
        for (const [at, scores] of (
          expected as { category_scores: Scores[] }
        ).category_scores.entries()) {
          const { category_scores: found = {}, category_applied_input_types: types } =
            results[at] ?? {};
          for (const [category, score] of Object.entries(scores))
            expect(Math.abs((found[category] ?? Number.NaN) - score)).toBeLessThan(1e-3);
          const covered = Object.entries(types ?? {}).filter(([, kinds]) => kinds.length > 0);
          expect(covered.map(([category]) => category).toSorted()).toEqual(
            Object.keys(scores).toSorted(),
          );
        }
      }
      await runner.close();
    },
  );

  test("judges a text that is longer than it reads in pieces", async () => {
    const { model } = await openRow("moderate-granite-guardian");
    const runner = await openRunner(moderation, model.path);
    const long = "a river and a boat ".repeat(400);
    const [whole, half] = await Promise.all(
      [long, long.slice(0, long.length / 2)].map((input) => runner.run({ input })),
    );
    expect(whole?.results[0]?.scores.every((score) => score >= 0 && score < 1)).toBe(true);
    expect(whole?.inputTokens).toBeGreaterThan(2_048);
    expect(whole?.inputTokens).toBeGreaterThan((half?.inputTokens ?? Infinity) * 1.9);
    await runner.close();
  });
});

type Scores = Readonly<Record<string, number>>;
interface Moderated {
  readonly results: readonly {
    readonly category_scores: Scores;
    readonly category_applied_input_types: Readonly<Record<string, readonly string[]>>;
  }[];
}
