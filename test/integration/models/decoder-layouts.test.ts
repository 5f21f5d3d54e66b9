import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { openGraphs } from "#framemill/runtime/ort/graphs.js";
import { int64Of } from "#framemill/runtime/tensors/tensor.js";
import type { ModelPackage } from "#framemill/runtime/packages/model-package.js";
import type { TextEngine } from "#framemill/models/decoder/open.js";
import { groupedAttentionLogits } from "../../support/grouped-attention-graph.js";
import { createTextEngines, GENAI, GROUPED, MERGED, OPTIMUM } from "../../support/text-engines.js";
import {
  BYTES,
  decoderFiles,
  lettersAfter,
  PIECES,
  textAfter,
} from "../../support/tiny-decoder.js";
import type { TinyDecoder } from "../../support/tiny-decoder-graph.js";
import { type Written, writeText } from "../../support/write-text.js";

const engines = createTextEngines();
afterAll(() => engines.close());

/** Every way in which decoders of text are published. */
const LAYOUTS: readonly (TinyDecoder & { readonly name: string; readonly dtype?: string })[] = [
  { name: "optimum", ...OPTIMUM },
  {
    name: "optimum with positions counted from the mask and weights beside",
    vocabulary: BYTES,
    path: "model.onnx",
    dataFile: "model.onnx_data",
    hasPositions: false,
  },
  { name: "optimum before 1.14, merged of two branches", ...MERGED },
  {
    name: "onnx-community in float16",
    vocabulary: BYTES,
    path: "onnx/model_fp16.onnx",
    dataFile: "model_fp16.onnx_data",
    dtype: "fp16",
    type: "float16",
    keepsLogits: true,
  },
  {
    name: "onnx-community in 4 bits",
    vocabulary: PIECES,
    path: "onnx/model_q4.onnx",
    dataFile: "model_q4.onnx_data",
    dtype: "q4",
    isQuantised: true,
  },
  { name: "ONNX Runtime GenAI", ...GENAI },
  { name: "ONNX Runtime GenAI with one cache a layer", ...GENAI, isCombined: true },
];

const PROMPTS = ["", "One day, Tom and", "Lily", "The sun was up and the birds sang", "He"];

/** Two answers each, so that runs are shared whoever is faster. */
const JOBS = PROMPTS.flatMap((prompt, index) => [
  { prompt, n: 2, maxTokens: 6 + 4 * index },
  { prompt, n: 2, maxTokens: 20 - 3 * index, temperature: 3, topP: 0.9, seed: index },
]);
const JOBS_TOKENS = JOBS.reduce((sum, { maxTokens, n }) => sum + n * maxTokens, 0);

type Choices = Written["choices"];

async function writeAlone(engine: TextEngine): Promise<Choices[]> {
  const alone: Choices[] = [];
  for (const job of JOBS) alone.push((await writeText(engine, job)).choices);
  return alone;
}

/** Each job joins when the one before has begun to write. */
async function writeTogether(engine: TextEngine): Promise<Choices[]> {
  const begun = JOBS.map(createGate);
  const writing = JOBS.map(async (job, index) => {
    await begun[index - 1]?.passed;
    return (await writeText(engine, job, { onEvent: () => begun[index]?.pass() })).choices;
  });
  return await Promise.all(writing);
}

function createGate() {
  let pass = () => {};
  const passed = new Promise<void>((resolve) => {
    pass = resolve;
  });
  return { passed, pass: () => pass() };
}

describe.each(LAYOUTS)("a decoder of $name", ({ dtype, ...decoder }) => {
  const { vocabulary, path, dataFile, isGenai = false } = decoder;
  let model: ModelPackage;
  let engine: TextEngine;
  beforeAll(async () => {
    model = await engines.add(decoderFiles(decoder), dtype);
    engine = await engines.open(model);
  });

  test("is found by its files, weights included", () => {
    const paths = Object.entries(model.files).map(([role, file]) => [role, file.path]);
    expect([model.modality, model.pipeline]).toEqual(["chat", "decoder-text"]);
    expect(Object.fromEntries(paths)).toEqual({
      decoder: path,
      config: isGenai ? "genai_config.json" : "config.json",
      ...(!isGenai && { "generation-config": "generation_config.json" }),
      tokenizer: "tokenizer.json",
      "tokenizer-config": "tokenizer_config.json",
      ...(dataFile && { "decoder-data": path.replace(/[^/]+$/, dataFile) }),
    });
    const { size: vocabSize } = vocabulary;
    expect(engine.info).toMatchObject({ vocabSize, contextTokens: 512, alignment: "end" });
  });

  test("writes what its formula says, and stops where it ends", async () => {
    const { firstLetter } = vocabulary;
    for (const prompt of PROMPTS) {
      const known = vocabulary.idsOf(prompt);
      const letters = lettersAfter(known, { count: 40, firstLetter });
      const written = await writeText(engine, { prompt });
      expect(written).toMatchObject({
        ids: letters.map((letter) => firstLetter + letter),
        text: textAfter(known, 40, vocabulary),
        finishReason: "length",
        usage: { promptTokens: known.length, completionTokens: 40 },
      });
    }
    const ended = await writeText(engine, { prompt: "The end!" });
    expect(ended).toMatchObject({ text: "", ids: [], finishReason: "stop" });
  });

  test("writes in a batch what it writes alone, joining and leaving", async () => {
    const alone = await writeAlone(engine);
    expect(new Set(alone.map((choices) => JSON.stringify(choices))).size).toBe(JOBS.length);
    engines.runs.length = 0;
    expect(await writeTogether(engine)).toEqual(alone);
    expect(engines.runs.length).toBeLessThan(JOBS_TOKENS);
  });
});

describe("a decoder of grouped attention", () => {
  let engine: TextEngine;
  beforeAll(async () => void (engine = await engines.open(await engines.add(GROUPED))));

  test("wants short rows at the start, keeps its caches in place, and writes what the formula of attention says", async () => {
    expect(engine.info).toMatchObject({ alignment: "start", sharesBuffers: true });
    const promptTokens = [5, 7, 11, 300];
    // More than the caches have room for at first.
    const settings = { promptTokens, maxTokens: 150, logprobs: 1 };
    const { ids, logprobs } = await writeText(engine, settings);
    expect(ids).toHaveLength(150);
    const known = [...promptTokens];
    for (const [step, id] of ids.entries()) {
      const logits = groupedAttentionLogits(known);
      const total = logits.reduce((sum, logit) => sum + Math.exp(logit), 0);
      const most = Math.max(...logits);
      expect(id).toBe(logits.indexOf(most));
      // Sums of 32 products of floats of size 1 and their exponents: 1e-6 was measured.
      expect(logprobs[step]?.logprob).toBeCloseTo(most - Math.log(total), 4);
      known.push(id);
    }
  });

  test("computes the logits of a prompt's last token and of no other", async () => {
    const { path } = await engines.add(GROUPED);
    const setup = {
      graphs: { decoder: join(path, "onnx/model.onnx") },
      providers: ["cpu"],
      threads: 1,
    };
    const [whole, trimmed] = await Promise.all([
      openGraphs(setup),
      openGraphs({ ...setup, lastPositionOf: { decoder: "logits" } }),
    ]);
    onTestFinished(async () => void (await Promise.all([whole.close(), trimmed.close()])));
    const past = { type: "float32", data: new Float32Array(0), dims: [1, 1, 0, 16] } as const;
    const feeds = {
      input_ids: int64Of([5, 7, 300], [1, 3]),
      attention_mask: int64Of([1, 1, 1], [1, 3]),
      "past_key_values.0.key": past,
      "past_key_values.0.value": past,
    };
    const [all, last] = await Promise.all(
      [whole, trimmed].map((graphs) => graphs.run("decoder", feeds, { fetch: ["logits"] })),
    );
    expect(last?.["logits"]?.dims).toEqual([1, 1, 512]);
    expect(last?.["logits"]?.data).toEqual(all?.["logits"]?.data.slice(2 * 512));
  });

  test("writes in a batch what it writes alone, joining and leaving", async () => {
    const alone = await writeAlone(engine);
    expect(await writeTogether(engine)).toEqual(alone);
  });
});
