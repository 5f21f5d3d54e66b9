import { readFile } from "node:fs/promises";
import { afterAll, expect, test } from "vitest";
import { openTextEngine, type TextEngine } from "#framemill/models/decoder/open.js";
import { addedModel } from "../../support/added-model.js";
import {
  describeWithModels,
  publishedModel,
  publishedModelsDir,
} from "../../support/published-models.js";
import { writeText } from "../../support/write-text.js";

const STORIES = "chat-stories260K";
const QWEN3 = "tiny-official/chat-qwen3";
const GENAI = "chat-ort-genai-tiny-random-llama-fp16";

interface Golden {
  readonly prompt: string;
  readonly prompt_ids: readonly number[];
  readonly greedy_ids: readonly number[];
  readonly greedy_text: string;
}

async function readGolden(name: string): Promise<unknown> {
  return JSON.parse(await readFile(publishedModel(name, "golden.json"), "utf8"));
}

describeWithModels("the text engine", () => {
  const opened = new Map<string, Promise<TextEngine>>();

  function engineOf(name: string): Promise<TextEngine> {
    const engine =
      opened.get(name) ?? addedModel(name).then((model) => openTextEngine(model, { threads: 1 }));
    opened.set(name, engine);
    return engine;
  }

  afterAll(async () => {
    for (const engine of opened.values()) await (await engine).close();
  });

  // golden.json is of llama2.c's own program; ids and text are the same, without a tolerance.
  test("writes llama2.c's published stories, greedily, token for token", async () => {
    const engine = await engineOf(STORIES);
    const goldens = (await readGolden(STORIES)) as readonly Golden[];
    for (const { prompt, prompt_ids: promptIds, ...golden } of goldens) {
      const maxTokens = golden.greedy_ids.length - promptIds.length;
      const written = await writeText(engine, { prompt, maxTokens });
      expect([...promptIds, ...written.ids]).toEqual(golden.greedy_ids);
      expect(prompt + written.text).toBe(golden.greedy_text);
      expect(written.usage).toMatchObject({ promptTokens: promptIds.length });
    }
  });

  // golden.json is of transformers' own PyTorch run.
  test("follows the reference for Qwen3, whose heads are wider than its states", async () => {
    const golden = (await readGolden(QWEN3)) as {
      readonly input_ids: readonly number[];
      readonly greedy_ids: readonly number[];
    };
    const maxTokens = golden.greedy_ids.length - golden.input_ids.length;
    const job = { promptTokens: golden.input_ids, maxTokens };
    const { ids } = await writeText(await engineOf(QWEN3), job);
    expect([...golden.input_ids, ...ids]).toEqual(golden.greedy_ids);
  });

  test("writes what transformers.js writes with the same graph", async () => {
    const { AutoModelForCausalLM, AutoTokenizer, env } = await import("@huggingface/transformers");
    env.allowRemoteModels = false;
    env.localModelPath = publishedModelsDir;
    const tokenizer = await AutoTokenizer.from_pretrained(STORIES);
    const model = await AutoModelForCausalLM.from_pretrained(STORIES, { dtype: "fp32" });
    const prompt = "Tim had a red ball. He";
    const inputs = tokenizer(prompt);
    const output = await model.generate({ ...inputs, max_new_tokens: 60, do_sample: false });
    const theirs: string =
      tokenizer.batch_decode(output as never, { skip_special_tokens: true })[0] ?? "";
    const actual = await writeText(await engineOf(STORIES), { prompt, maxTokens: 60 });
    expect(prompt + actual.text).toBe(theirs);
    await model.dispose();
  });

  // What exporters' own masks do to shorter rows is in no formula here.
  test.each([STORIES, QWEN3, GENAI])("batches the graph of %s as it runs alone", async (name) => {
    const engine = await engineOf(name);
    expect(engine.info.alignment).toBe("end");
    const prompts = ["", "One day, Tom and", "The sun was up and the birds sang in the", "He"];
    const jobs = prompts.map((prompt, index) => ({ prompt, maxTokens: 12 + 9 * index, n: 2 }));
    const alone: unknown[] = [];
    for (const job of jobs) alone.push((await writeText(engine, job)).choices);
    const batched = await Promise.all(jobs.map((job) => writeText(engine, job)));
    expect(batched.map(({ choices }) => choices)).toEqual(alone);
  });
});
