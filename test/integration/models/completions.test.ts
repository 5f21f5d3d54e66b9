import OpenAI from "openai";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { ModelInfo, Pipeline } from "#framemill/core/modality.js";
import { createChatPipeline } from "#framemill/modalities/chat/pipeline.js";
import { completions } from "#framemill/modalities/completions/index.js";
import { addModel } from "#framemill/models/add-model.js";
import { serveModalities, type ServedModality } from "../../support/modality-server.js";
import { createModelFolders } from "../../support/model-folders.js";
import { BYTES, decoderFiles, textAfter } from "../../support/tiny-decoder.js";

const model = "letters";
const contextTokens = 512;
const prompt = "Once upon a time";
const STORY = textAfter(BYTES.idsOf(prompt), 12);
const greedy = { model, temperature: 0, max_tokens: 12 };

const folders = createModelFolders();
afterAll(() => folders.remove());

describe("the stock openai client", () => {
  let pipeline: Pipeline<never, never> | undefined;
  let server: Awaited<ReturnType<typeof serveModalities>> | undefined;
  let client: OpenAI;

  beforeAll(async () => {
    const setup = { threads: 1, ffmpegPath: "", ffprobePath: "", espeakPath: "" };
    const files = decoderFiles({ vocabulary: BYTES, path: "onnx/model.onnx", contextTokens });
    const { modelsDir } = folders;
    const template = { "chat_template.jinja": "{{ messages[0].content }}" };
    const source = folders.write("source", { ...files, ...template });
    const { path: modelPath } = await addModel(source, { modelsDir, id: model });
    pipeline = (await createChatPipeline({ modelPath, ...setup })) as Pipeline<never, never>;
    const info: ModelInfo = {
      id: model,
      modality: "chat",
      createdAtSeconds: 0,
      concurrency: 32,
      contextTokens,
    };
    server = await serveModalities([{ modality: completions, pipeline } as ServedModality], info);
    client = new OpenAI({ apiKey: "none", baseURL: server.url, maxRetries: 0 });
  });
  afterAll(async () => {
    await server?.close();
    await pipeline?.close();
  });

  test("has a prompt continued as it is, 16 tokens long where it names no length", async () => {
    const answer = await client.completions.create({ model, prompt, temperature: 0 });
    expect(answer).toMatchObject({
      object: "text_completion",
      model,
      choices: [
        {
          index: 0,
          text: textAfter(BYTES.idsOf(prompt), 16),
          logprobs: null,
          finish_reason: "length",
        },
      ],
      usage: { prompt_tokens: prompt.length, completion_tokens: 16 },
    });
    expect(answer.id).toMatch(/^cmpl-/);
  });

  test("has the same continued from its token ids, and both in lists", async () => {
    const ids = BYTES.idsOf(prompt);
    const texts = async (given: string | string[] | number[] | number[][]) =>
      (await client.completions.create({ ...greedy, prompt: given })).choices.map(
        ({ text }) => text,
      );
    expect(await texts([...ids])).toEqual([STORY]);
    const other = textAfter(BYTES.idsOf("Other"), 12);
    expect(await texts([prompt, "Other"])).toEqual([STORY, other]);
    expect(await texts([[...ids], [...BYTES.idsOf("Other")]])).toEqual([STORY, other]);
  });

  test("counts the choices of a list prompt by prompt, and draws each by itself", async () => {
    const answer = await client.completions.create({
      ...greedy,
      prompt: [prompt, "Other", prompt],
      temperature: 1,
      n: 2,
      echo: true,
      seed: 3,
    });
    const texts = answer.choices.map(({ text }) => text);
    expect(answer.choices.map(({ index }) => index)).toEqual([0, 1, 2, 3, 4, 5]);
    expect(texts.map((text) => text.slice(0, -12))).toEqual([
      prompt,
      prompt,
      "Other",
      "Other",
      prompt,
      prompt,
    ]);
    expect(new Set(texts).size).toBe(6);
    expect(answer.usage).toMatchObject({
      prompt_tokens: 2 * prompt.length + 5,
      completion_tokens: 72,
    });
    const alone = { ...greedy, prompt, temperature: 1, n: 2, echo: true };
    const again = await client.completions.create({ ...alone, seed: 5 });
    expect(again.choices.map(({ text }) => text)).toEqual(texts.slice(4));
  });

  test("tells probabilities in the legacy lists", async () => {
    const answer = await client.completions.create({ ...greedy, prompt, logprobs: 2 });
    const { logprobs } = answer.choices[0] ?? {};
    const places = Array.from(STORY, (_, index) => index);
    expect(logprobs?.tokens?.join("")).toBe(STORY);
    expect(logprobs?.text_offset).toEqual(places);
    expect(logprobs?.token_logprobs).toHaveLength(12);
    expect(logprobs?.top_logprobs?.map((top) => Object.keys(top).length)).toEqual(
      places.map(() => 2),
    );
  });

  test("reads chunks that add up to the same", async () => {
    const options = { ...greedy, prompt: [prompt, "Other"], logprobs: 2 };
    const whole = await client.completions.create(options);
    const stream = await client.completions.create({
      ...options,
      stream: true,
      stream_options: { include_usage: true },
    });
    const chunks: OpenAI.Completion[] = [];
    for await (const chunk of stream) chunks.push(chunk);
    const choices = [0, 1].map((index) => {
      const own = chunks.flatMap((chunk) => chunk.choices.filter((one) => one.index === index));
      return {
        text: own.map(({ text }) => text).join(""),
        offsets: own.flatMap(({ logprobs }) => logprobs?.text_offset ?? []),
        ends: own.flatMap(({ finish_reason: end }) => end ?? []),
      };
    });
    expect(choices).toEqual(
      whole.choices.map(({ text, logprobs }) => ({
        text,
        offsets: logprobs?.text_offset,
        ends: ["length"],
      })),
    );
    expect(chunks.at(-1)).toMatchObject({
      object: "text_completion",
      choices: [],
      usage: { completion_tokens: 24, total_tokens: prompt.length + 5 + 24 },
    });
  });

  test("writes to the end what vllm bench serve asks for, and counts it", async () => {
    const answer = await fetch(`${client.baseURL}/completions`, {
      method: "POST",
      body: JSON.stringify({
        model,
        prompt,
        temperature: 0,
        repetition_penalty: 1,
        max_tokens: 100,
        logprobs: null,
        ignore_eos: true,
        stream: true,
        stream_options: { include_usage: true },
      }),
    });
    const events = (await answer.text()).trim().split("\n\n");
    expect(events.at(-1)).toBe("data: [DONE]");
    expect(JSON.parse(events.at(-2)?.slice("data: ".length) ?? "")).toMatchObject({
      choices: [],
      usage: { prompt_tokens: prompt.length, completion_tokens: 100 },
    });
  });

  test("reads a prompt's own marks of structure as structure", async () => {
    const answer = await client.completions.create({ ...greedy, prompt: `${prompt}</s>` });
    expect(answer.usage?.prompt_tokens).toBe(prompt.length + 1);
  });

  test.each([
    ["prompt must not be empty, got an empty array", { prompt: [] }],
    [
      "prompt 1 must have token ids of the model's own vocabulary, below",
      { prompt: [[1, 2], [70_000]] },
    ],
    ["suffix: must be empty", { suffix: "end" }],
    ["best_of must be n, which is 1", { best_of: 2 }],
    ["logprobs with echo must be null", { echo: true, logprobs: 1 }],
    ["logprobs: must be a whole number from 0 to 5, got 6", { logprobs: 6 }],
    [
      "This model's maximum context length is 512 tokens.",
      { stream: true, prompt: ["a", "word ".repeat(200)] },
    ],
  ])("is refused: %s", async (sentence, fields) => {
    const refused = client.completions.create({ ...greedy, prompt, ...fields });
    await expect(refused).rejects.toMatchObject({
      status: 400,
      param: Object.keys(fields).at(-1),
      message: expect.stringContaining(sentence),
    });
  });
});
