import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { ModelPackage } from "#framemill/runtime/packages/model-package.js";
import { openTextEngine, type TextEngine } from "#framemill/models/decoder/open.js";
import { createTextEngines, GENAI, GROUPED, MERGED, OPTIMUM } from "../../support/text-engines.js";
import { decoderFiles, PIECES, textAfter } from "../../support/tiny-decoder.js";
import { writeText } from "../../support/write-text.js";

const engines = createTextEngines();
afterAll(() => engines.close());

const MUCH = 2 ** 22;

/** Three turns of a conversation whose prompts each begin with all that was said before. */
async function converse(engine: TextEngine, first: number) {
  const promptTokens = Array.from({ length: 70 }, (_, at) => 3 + ((at * 5 + first) % 200));
  const turns: { readonly ids: readonly number[]; readonly cached: number; most: number }[] = [];
  let most = 0;
  for (let turn = 0; turn < 3; turn += 1) {
    const job = { promptTokens: promptTokens.slice(), maxTokens: 30, cacheScope: "one" };
    const { ids, usage } = await writeText(engine, job);
    turns.push({ ids, cached: usage?.cachedTokens ?? Number.NaN, most });
    const { completionTokens = 0 } = usage ?? {};
    most = 32 * Math.floor((promptTokens.length + completionTokens - 1) / 32);
    promptTokens.push(...ids, 9, 11, 13);
  }
  return turns;
}

async function converseAll(engine: TextEngine) {
  return (await Promise.all([1, 40, 90].map((first) => converse(engine, first)))).flat();
}

describe("a conversation", () => {
  test.each([
    ["optimum", decoderFiles(OPTIMUM)],
    ["grouped attention", GROUPED],
  ])("with a decoder of %s is read on from where it was", async (_, files) => {
    const model = await engines.add(files);
    const plain = await converseAll(await engines.open(model));
    expect(plain.map(({ cached }) => cached)).toEqual(plain.map(() => 0));
    const known = await converseAll(await engines.open(model, MUCH));
    expect(known.map(({ ids }) => ids)).toEqual(plain.map(({ ids }) => ids));
    expect(known.map(({ cached }) => cached)).toEqual(plain.map(({ most }) => most));
  });

  test("is known in part where there is little room for all of them", async () => {
    const model = await engines.add(decoderFiles(OPTIMUM));
    const plain = await converseAll(await engines.open(model));
    // Two layers of 64 numbers: 512 bytes a token, 16 384 a block of 32.
    const known = await converseAll(await engines.open(model, 2 * 16_384));
    expect(known.map(({ ids }) => ids)).toEqual(plain.map(({ ids }) => ids));
    for (const { cached, most } of known) expect(cached).toBeLessThanOrEqual(Math.min(64, most));
  });

  test.each([
    ["refuses", GENAI],
    ["misreads", MERGED],
  ])("is read anew by a graph that %s a prompt in parts", async (_, decoder) => {
    const model = await engines.add(decoderFiles(decoder));
    const plain = await converse(await engines.open(model), 1);
    const known = await converse(await engines.open(model, MUCH), 1);
    expect(known).toEqual(plain);
    expect(known.map(({ cached }) => cached)).toEqual([0, 0, 0]);
  });
});

describe("the text engine", () => {
  let model: ModelPackage;
  let engine: TextEngine;
  beforeAll(async () => {
    model = await engines.add(decoderFiles(OPTIMUM));
    engine = await engines.open(model);
  });

  test("gives every choice of a request its own stream of the seed", async () => {
    const texts = async (seed: number) => {
      const job = { prompt: "Once", temperature: 2, n: 3, maxTokens: 20, seed };
      return (await writeText(engine, job)).choices.map(({ text }) => text);
    };
    const first = await texts(1);
    expect(new Set(first).size).toBe(3);
    expect(await texts(1)).toEqual(first);
    expect(await texts(2)).not.toEqual(first);
  });

  test("stops at a stop text without showing it, and tells the likeliest tokens", async () => {
    const whole = textAfter(PIECES.idsOf("Once"), 20, PIECES);
    const stop = [whole.slice(9, 12)];
    const { text, finishReason, logprobs, ids } = await writeText(engine, {
      prompt: "Once",
      stop,
      logprobs: 3,
    });
    expect([text, finishReason]).toEqual([whole.slice(0, 9), "stop"]);
    expect(ids).toHaveLength(12);
    expect(logprobs.map(({ token }) => token).join("")).toBe(whole.slice(0, 12));
    for (const [index, { top, id, logprob }] of logprobs.entries()) {
      expect(id).toBe(ids[index]);
      // Logits fall by one for every id further away, to both sides.
      const powers = Array.from({ length: PIECES.size }, (_, other) =>
        Math.exp(-Math.abs(id - other)),
      );
      const expected = -Math.log(powers.reduce((sum, power) => sum + power, 0));
      expect(logprob).toBeCloseTo(expected, 5);
      expect(new Set(top.map((one) => one.id))).toEqual(new Set([id - 1, id, id + 1]));
      expect(top[0]).toMatchObject({ id, logprob });
      expect(top[1]?.logprob).toBeCloseTo(expected - 1, 5);
    }
  });

  test("refuses a prompt that fills the context, with both numbers", async () => {
    const promptTokens = Array.from({ length: 600 }, () => 5);
    await expect(writeText(engine, { promptTokens })).rejects.toMatchObject({
      code: "context_length_exceeded",
      message: expect.stringMatching(/512 tokens.*600/),
    });
    const fits = { promptTokens: promptTokens.slice(0, 500), maxTokens: null };
    expect((await writeText(engine, fits)).usage?.completionTokens).toBe(12);
  });

  test("does not end by itself before the least number of tokens", async () => {
    // As if the model would end at once: its stop token is the likeliest always.
    const job = { prompt: "Once", logitBias: { [PIECES.stop]: 1e6 }, maxTokens: 20 };
    const counts = [undefined, 5, 1_000].map(async (minTokens) => {
      const { usage, finishReason } = await writeText(engine, { ...job, minTokens });
      return [usage?.completionTokens, finishReason];
    });
    expect(await Promise.all(counts)).toEqual([
      [1, "stop"],
      [6, "stop"],
      [20, "length"],
    ]);
  });

  test("ends a cancelled request at once and serves the others on", async () => {
    const leaves = new AbortController();
    const other = writeText(engine, { prompt: "One day", maxTokens: 30 });
    const onEvent = () => leaves.abort(new Error("the caller left"));
    const cancelled = writeText(engine, { maxTokens: 500 }, { signal: leaves.signal, onEvent });
    await expect(cancelled).rejects.toThrow("the caller left");
    expect((await other).text).toBe(textAfter(PIECES.idsOf("One day"), 30, PIECES));
  });

  test("writes JSON where only JSON may follow", async () => {
    const schema = {
      type: "object",
      properties: { name: { type: "string", maxLength: 8 }, age: { type: "integer", maximum: 99 } },
      required: ["name", "age"],
      additionalProperties: false,
    };
    const mask = { kind: "json-schema", schema } as const;
    const job = { prompt: "Who", mask, temperature: 1, maxTokens: 200 };
    const { text, finishReason } = await writeText(engine, job);
    expect(finishReason).toBe("stop");
    expect(JSON.parse(text)).toEqual({ name: expect.any(String), age: expect.any(Number) });
  });

  test("names what is wrong with a package", async () => {
    const files = { ...model.files, decoder: { path: "config.json", sha256: "", byteLength: 1 } };
    const broken = openTextEngine({ ...model, files }, { threads: 1 });
    await expect(broken).rejects.toThrow(/config\.json\) does not open/);
  });
});
