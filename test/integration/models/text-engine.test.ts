import { cp, mkdir, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { addModel } from "#framemill/inference/layouts/add-model.js";
import { loadModelPackage, type ModelPackage } from "#framemill/inference/model-package.js";
import { openTextEngine, type TextEngine } from "#framemill/inference/text/engine.js";
import type {
  ChosenLogprob,
  StepRun,
  TextJob,
  TextUsage,
} from "#framemill/inference/text/request.js";
import { addedModel } from "../../support/added-model.js";
import { writeGroupedAttentionGraph } from "../../support/grouped-attention-graph.js";
import {
  describeWithModels,
  publishedModel,
  publishedModelsDir,
} from "../../support/published-models.js";

const STORIES = "chat-stories260K";
const QWEN3 = "tiny-official/chat-qwen3";
const GENAI = "chat-ort-genai-tiny-random-llama-fp16";

const JOB: TextJob = {
  prompt: "",
  addSpecialTokens: true,
  maxTokens: 40,
  n: 1,
  temperature: 0,
  topP: 1,
  topK: 0,
  minP: 0,
  frequencyPenalty: 0,
  presencePenalty: 0,
  seed: 7,
  stop: [],
  logitBias: {},
  logprobs: null,
  mask: null,
};

interface Written {
  readonly text: string;
  readonly ids: readonly number[];
  readonly logprobs: readonly ChosenLogprob[];
  readonly finishReason: string | undefined;
  readonly usage: TextUsage | undefined;
}

async function write(
  engine: TextEngine,
  job: Partial<TextJob>,
  signal = new AbortController().signal,
): Promise<Written> {
  const ids: number[] = [];
  const logprobs: ChosenLogprob[] = [];
  let text = "";
  let finishReason: string | undefined;
  let usage: TextUsage | undefined;
  for await (const event of engine.generate({ ...JOB, ...job }, signal)) {
    if (event.type === "end") {
      usage = event.usage;
      continue;
    }
    text += event.text;
    ids.push(...event.tokenIds);
    logprobs.push(...(event.logprobs ?? []));
    finishReason = event.finishReason ?? finishReason;
  }
  return { text, ids, logprobs, finishReason, usage };
}

describeWithModels("the text engine", () => {
  const opened = new Map<string, Promise<TextEngine>>();
  const runs: StepRun[] = [];
  let scratch: string | undefined;

  function engineOf(name: string): Promise<TextEngine> {
    const engine = opened.get(name) ?? open(name);
    opened.set(name, engine);
    return engine;
  }

  /** `<model>` or, with so many bytes to remember prompts in, `<model> <bytes>`. */
  async function open(name: string): Promise<TextEngine> {
    const [path = "", bytes = "0"] = name.split(" ");
    const model = path === "grouped" ? await addGrouped() : await addedModel(path);
    const promptCacheBytes = Number(bytes);
    return openTextEngine(model, { threads: 1, promptCacheBytes, onRun: (run) => runs.push(run) });
  }

  async function addGrouped(): Promise<ModelPackage> {
    if (scratch !== undefined) return await loadModelPackage(join(scratch, "models", "grouped"));
    scratch = await mkdtemp(join(tmpdir(), "framemill-grouped-"));
    const folder = join(scratch, "grouped");
    await mkdir(join(folder, "onnx"), { recursive: true });
    writeGroupedAttentionGraph(join(folder, "onnx", "model.onnx"));
    for (const file of ["config.json", "tokenizer.json", "tokenizer_config.json"])
      await cp(publishedModel(STORIES, file), join(folder, file));
    return addModel(folder, { modelsDir: join(scratch, "models") });
  }

  afterAll(async () => {
    for (const engine of opened.values()) await (await engine).close();
    if (scratch !== undefined) await rm(scratch, { recursive: true });
  });

  test("writes llama2.c's published stories, greedily, token for token", async () => {
    const engine = await engineOf(STORIES);
    const golden = JSON.parse(await readFile(publishedModel(STORIES, "golden.json"), "utf8"));
    for (const { prompt, prompt_ids: promptIds, greedy_ids: ids, greedy_text: text } of golden) {
      const maxTokens = ids.length - promptIds.length;
      const written = await write(engine, { prompt, maxTokens });
      expect([...promptIds, ...written.ids]).toEqual(ids);
      expect(prompt + written.text).toBe(text);
      const usage = { promptTokens: promptIds.length, completionTokens: maxTokens };
      expect(written).toMatchObject({ usage, finishReason: "length" });
    }
  });

  test("follows the reference for Qwen3, whose heads are wider than its states", async () => {
    const engine = await engineOf(QWEN3);
    const golden = JSON.parse(await readFile(publishedModel(QWEN3, "golden.json"), "utf8"));
    const promptTokens: number[] = golden.input_ids;
    const maxTokens = golden.greedy_ids.length - promptTokens.length;
    const written = await write(engine, { promptTokens, maxTokens, logprobs: 1 });
    expect([...promptTokens, ...written.ids]).toEqual(golden.greedy_ids);
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
    const ours = await write(await engineOf(STORIES), { prompt, maxTokens: 60 });
    expect(prompt + ours.text).toBe(theirs);
    await model.dispose();
  });

  test("runs a float16 graph of ONNX Runtime GenAI, twice the same", async () => {
    const engine = await engineOf(GENAI);
    const first = await write(engine, { prompt: "Hello there" });
    expect(first.ids).toHaveLength(40);
    expect(await write(engine, { prompt: "Hello there" })).toEqual(first);
  });

  const PROMPTS = [
    "",
    "One day, Tom and",
    "Lily",
    "The sun was up and the birds sang in the",
    "He",
  ];

  test.each([
    [STORIES, "end"],
    [QWEN3, "end"],
    [GENAI, "end"],
    ["grouped", "start"],
  ])("writes together what %s writes alone, joining and leaving", async (name, alignment) => {
    const engine = await engineOf(name);
    expect(engine.info.alignment).toBe(alignment);
    const jobs = PROMPTS.flatMap((prompt, index) => [
      { prompt, maxTokens: 12 + 9 * index },
      { prompt, maxTokens: 30 - 4 * index, temperature: 1, topP: 0.9, seed: index },
    ]);
    const alone: string[] = [];
    for (const job of jobs) alone.push((await write(engine, job)).text);
    runs.length = 0;
    const together = await Promise.all(
      jobs.map(async (job, index) => {
        // Each joins when the first has written some tokens more.
        await new Promise((resolve) => setTimeout(resolve, 3 * index));
        return (await write(engine, job)).text;
      }),
    );
    expect(together).toEqual(alone);
    const tokens = jobs.reduce((sum, { maxTokens }) => sum + maxTokens, 0);
    expect(runs.length).toBeLessThan(tokens);
  });

  const MUCH = 2 ** 22;
  type Turn = Readonly<Record<"cached" | "most", number>> & { readonly ids: readonly number[] };

  test.each<[string, number, (turn: Turn) => number]>([
    [STORIES, MUCH, ({ most }) => most],
    [STORIES, 100_000, ({ cached, most }) => Math.min(cached, most)],
    [QWEN3, MUCH, ({ most }) => most],
    ["grouped", MUCH, ({ most }) => most],
    // Its graph reads no prompt in parts, so that nothing can be continued.
    [GENAI, MUCH, () => 0],
  ])("continues conversations of %s with %i bytes of known prompts", async (name, bytes, knows) => {
    const converse = async (engine: TextEngine, first: number) => {
      const promptTokens = Array.from({ length: 70 }, (_, at) => 3 + ((at * 5 + first) % 200));
      const turns: Turn[] = [];
      let most = 0;
      for (let turn = 0; turn < 3; turn += 1) {
        const job = { promptTokens: promptTokens.slice(), maxTokens: 30, cacheScope: "one" };
        const { ids, usage } = await write(engine, job);
        turns.push({ ids, cached: usage?.cachedTokens ?? Number.NaN, most });
        const { completionTokens = 0 } = usage ?? {};
        most = 32 * Math.floor((promptTokens.length + completionTokens - 1) / 32);
        promptTokens.push(...ids, 9, 11, 13);
      }
      return turns;
    };
    const converseAll = async (engine: TextEngine) =>
      (await Promise.all([1, 40, 90].map((first) => converse(engine, first)))).flat();
    const known = await converseAll(await engineOf(`${name} ${bytes}`));
    const plain = await converseAll(await engineOf(name));
    expect(known.map(({ ids }) => ids)).toEqual(plain.map(({ ids }) => ids));
    expect(known.map(({ cached }) => cached)).toEqual(known.map(knows));
  });

  test("gives every choice of a request its own stream of the seed", async () => {
    const engine = await engineOf(STORIES);
    const job = { prompt: "Once", temperature: 1, n: 3, maxTokens: 20 };
    const texts = async (id: number) => {
      const parts: string[] = ["", "", ""];
      const signal = new AbortController().signal;
      for await (const event of engine.generate({ ...JOB, ...job, seed: id }, signal))
        if (event.type === "text") parts[event.choice] += event.text;
      return parts;
    };
    const first = await texts(1);
    expect(new Set(first).size).toBe(3);
    expect(await texts(1)).toEqual(first);
    expect(await texts(2)).not.toEqual(first);
  });

  test("stops at a stop text without showing it, and tells the likeliest tokens", async () => {
    const engine = await engineOf(STORIES);
    const { text, finishReason, logprobs, ids } = await write(engine, {
      stop: [" girl named"],
      logprobs: 3,
    });
    expect([text, finishReason]).toEqual(["Once upon a time, there was a little", "stop"]);
    expect(logprobs).toHaveLength(ids.length);
    for (const [index, { top, id, logprob }] of logprobs.entries()) {
      expect(id).toBe(ids[index]);
      expect(top).toHaveLength(3);
      expect(top[0]).toMatchObject({ id, logprob });
    }
    expect(logprobs.map(({ token }) => token).join("")).toMatch(/^ ?Once upon a time/);
  });

  test("refuses a prompt that fills the context, with both numbers", async () => {
    const promptTokens = Array.from({ length: 600 }, () => 5);
    const refused = write(await engineOf(STORIES), { promptTokens });
    await expect(refused).rejects.toMatchObject({
      code: "context_length_exceeded",
      message: expect.stringMatching(/512 tokens.*600/),
    });
    const fits = { promptTokens: promptTokens.slice(0, 500), maxTokens: null };
    expect((await write(await engineOf(STORIES), fits)).usage?.completionTokens).toBeLessThan(13);
  });

  test("ends a cancelled request at once and serves the others on", async () => {
    const engine = await engineOf(STORIES);
    const controller = new AbortController();
    const cancelled = write(engine, { maxTokens: 500 }, controller.signal);
    const other = write(engine, { prompt: "One day", maxTokens: 30 });
    setTimeout(() => controller.abort(new Error("the caller left")), 5);
    await expect(cancelled).rejects.toThrow("the caller left");
    expect((await other).ids).toHaveLength(30);
  });

  test("writes JSON where only JSON may follow", async () => {
    const schema = {
      type: "object",
      properties: { name: { type: "string", maxLength: 8 }, age: { type: "integer", maximum: 99 } },
      required: ["name", "age"],
      additionalProperties: false,
    };
    const engine = await engineOf(STORIES);
    const mask = { kind: "json-schema", schema } as const;
    const { text, finishReason } = await write(engine, { mask, temperature: 1, maxTokens: 200 });
    expect(finishReason).toBe("stop");
    expect(JSON.parse(text)).toEqual({ name: expect.any(String), age: expect.any(Number) });
  });

  test("names what is wrong with a package", async () => {
    const model = await addedModel(STORIES);
    const files = { ...model.files, decoder: { path: "config.json", sha256: "", byteLength: 1 } };
    const broken = openTextEngine({ ...model, files }, { threads: 1 });
    await expect(broken).rejects.toThrow(/config\.json does not open/);
  });
});
