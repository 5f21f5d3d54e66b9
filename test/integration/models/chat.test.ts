import OpenAI from "openai";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import type { ModelInfo, Pipeline } from "#framemill/core/modality.js";
import { chat } from "#framemill/modalities/chat/index.js";
import { createChatPipeline } from "#framemill/modalities/chat/pipeline.js";
import { responses } from "#framemill/modalities/responses/index.js";
import { responseObject } from "#framemill/modalities/responses/response-object.js";
import { addModel } from "#framemill/models/add-model.js";
import { serveModalities, type ServedModality } from "../../support/modality-server.js";
import { createModelFolders } from "../../support/model-folders.js";
import { BYTES, decoderFiles, textAfter } from "../../support/tiny-decoder.js";

const model = "letters";
const contextTokens = 2_048;
const prompt = "Once upon a time";
const story = { messages: [{ role: "user" as const, content: prompt }], model, temperature: 0 };

const TEMPLATE =
  "{% for message in messages %}[{{ message.role }}]{{ message.content }}{% endfor %}[assistant]";
/** What the template makes of the prompt: a token a byte. */
const PROMPT = "[user]Once upon a time[assistant]";
const STORY = textAfter(BYTES.idsOf(PROMPT), 12);

const folders = createModelFolders();
afterAll(() => folders.remove());

async function addLetters(): Promise<string> {
  const decoder = { vocabulary: BYTES, path: "onnx/model.onnx", contextTokens };
  const files = { ...decoderFiles(decoder), "chat_template.jinja": TEMPLATE };
  const { modelsDir } = folders;
  return (await addModel(folders.write("source", files), { modelsDir, id: model })).path;
}

const person = z.object({ name: z.string().max(8), age: z.int().min(0).max(120) });
const personSchema = z.toJSONSchema(person) as Record<string, unknown>;
const tool = {
  name: "add_person",
  description: "Adds a person",
  parameters: personSchema,
  strict: true,
};

describe("the stock openai client", () => {
  let pipeline: Pipeline<never, never> | undefined;
  let server: Awaited<ReturnType<typeof serveModalities>> | undefined;
  let client: OpenAI;

  beforeAll(async () => {
    const setup = { threads: 1, ffmpegPath: "", ffprobePath: "", espeakPath: "" };
    const created = await createChatPipeline({ modelPath: await addLetters(), ...setup });
    pipeline = created as Pipeline<never, never>;
    const info: ModelInfo = {
      id: model,
      modality: "chat",
      createdAtSeconds: 0,
      concurrency: 32,
      contextTokens,
    };
    const served = [chat, responses].map((modality) => ({ modality, pipeline }) as ServedModality);
    server = await serveModalities(served, info);
    client = new OpenAI({ apiKey: "none", baseURL: server.url, maxRetries: 0 });
  });
  afterAll(async () => {
    await server?.close();
    await pipeline?.close();
  });

  test("reads a whole completion by the model's template, with its usage", async () => {
    const answer = await client.chat.completions.create({ ...story, max_tokens: 12 });
    expect(answer.object).toBe("chat.completion");
    expect(answer.choices[0]?.message.content).toBe(STORY);
    expect(answer.choices[0]?.finish_reason).toBe("length");
    expect(answer.usage).toMatchObject({
      prompt_tokens: PROMPT.length,
      completion_tokens: 12,
      total_tokens: PROMPT.length + 12,
    });
  });

  test("streams chunks that add up to the same, with probabilities and usage", async () => {
    const stream = client.chat.completions.stream({
      ...story,
      max_tokens: 12,
      n: 2,
      logprobs: true,
      top_logprobs: 2,
      stream_options: { include_usage: true },
    });
    const roles: unknown[] = [];
    stream.on("chunk", ({ choices }) => roles.push(choices[0]?.delta.role));
    const answer = await stream.finalChatCompletion();
    expect(roles.slice(0, 3)).toEqual(["assistant", "assistant", undefined]);
    expect(answer.usage?.completion_tokens).toBe(24);
    for (const choice of answer.choices) {
      expect(choice.message.content).toBe(STORY);
      expect(choice.logprobs?.content).toHaveLength(12);
      expect(choice.logprobs?.content?.[0]?.top_logprobs).toHaveLength(2);
    }
  });

  test("parses an answer that is held to a schema", async () => {
    const answer = await client.chat.completions.parse({
      ...story,
      temperature: 1,
      seed: 3,
      response_format: {
        type: "json_schema",
        json_schema: { name: "person", strict: true, schema: personSchema },
      },
    });
    expect(answer.choices[0]?.finish_reason).toBe("stop");
    const value: unknown = JSON.parse(answer.choices[0]?.message.content ?? "");
    expect(person.safeParse(value).error).toBeUndefined();
  });

  test("runs the tool that it forces, and hands its result back", async () => {
    const people: unknown[] = [];
    const runner = client.chat.completions.runTools(
      {
        ...story,
        messages: [{ role: "user", content: "Hi" }],
        max_tokens: 200,
        stream: true,
        tool_choice: { type: "function", function: { name: "add_person" } },
        tools: [
          {
            type: "function",
            function: {
              ...tool,
              parse: JSON.parse,
              function: (value: unknown) => {
                people.push(person.parse(value));
                return "added";
              },
            },
          },
        ],
      },
      { maxChatCompletions: 2 },
    );
    const calls: string[] = [];
    runner.on("functionToolCall", (call) => calls.push(call.name));
    await runner.done();
    expect(calls).toEqual(["add_person"]);
    expect(people).toHaveLength(1);
  });

  test("has a refused prompt's status, also for a stream", async () => {
    const messages = [{ role: "user" as const, content: "word ".repeat(600) }];
    const refused = client.chat.completions.create({ ...story, messages, stream: true });
    await expect(refused).rejects.toMatchObject({ status: 400, code: "context_length_exceeded" });
  });

  test("follows a response's events from created to incomplete", async () => {
    const stream = client.responses.stream({
      model,
      input: prompt,
      temperature: 0,
      max_output_tokens: 12,
    });
    const types: string[] = [];
    const sequence: number[] = [];
    for await (const event of stream) {
      types.push(event.type);
      sequence.push(event.sequence_number);
    }
    expect(sequence).toEqual(sequence.map((_, index) => index));
    expect([...new Set(types)]).toEqual([
      "response.created",
      "response.in_progress",
      "response.output_item.added",
      "response.content_part.added",
      "response.output_text.delta",
      "response.output_text.done",
      "response.content_part.done",
      "response.output_item.done",
      "response.incomplete",
    ]);
    const answer = await stream.finalResponse();
    expect(answer.output_text).toBe(STORY);
    expect(responseObject.safeParse(answer).error).toBeUndefined();
    expect(answer.incomplete_details).toEqual({ reason: "max_output_tokens" });
  });

  test("streams a call of a function, and continues after its result", async () => {
    const tools = [{ type: "function" as const, ...tool }];
    const stream = client.responses.stream({
      model,
      input: "Hi",
      max_output_tokens: 200,
      temperature: 0,
      tools,
      tool_choice: { type: "function", name: "add_person" },
    });
    const types: string[] = [];
    for await (const { type } of stream) types.push(type);
    expect(types.slice(2)).toEqual([
      "response.output_item.added",
      "response.function_call_arguments.delta",
      "response.function_call_arguments.done",
      "response.output_item.done",
      "response.completed",
    ]);
    const answer = await stream.finalResponse();
    const call = answer.output[0];
    if (call?.type !== "function_call") throw new Error("the answer has no call");
    expect(person.safeParse(JSON.parse(call.arguments)).error).toBeUndefined();
    const next = await client.responses.create({
      model,
      previous_response_id: answer.id,
      input: [{ type: "function_call_output", call_id: call.call_id, output: "added" }],
      max_output_tokens: 4,
      temperature: 0,
    });
    expect(next.previous_response_id).toBe(answer.id);
    const read = "[user]Hi[assistant][tool]added[assistant]";
    expect(next.usage?.input_tokens).toBe(read.length);
    expect(next.output_text).toBe(textAfter(BYTES.idsOf(read), 4));
  });

  test("leaves out the oldest messages where truncation allows it, as few as need be", async () => {
    const long = "word ".repeat(300);
    const input = [
      { role: "user" as const, content: long },
      { role: "assistant" as const, content: long },
      { role: "user" as const, content: prompt },
    ];
    const limits = { max_output_tokens: 8, temperature: 0 };
    const body = { model, instructions: "Be brief.", input, ...limits };
    await expect(client.responses.create(body)).rejects.toMatchObject({ status: 400 });
    const answer = await client.responses.create({ ...body, truncation: "auto" });
    const kept = `[system]Be brief.[assistant]${long}${PROMPT}`;
    expect(answer.usage?.input_tokens).toBe(kept.length);
    expect(answer.output_text).toBe(textAfter(BYTES.idsOf(kept), 8));
  });

  test("tells that an earlier response is not there", async () => {
    const refused = client.responses.create({ model, input: "x", previous_response_id: "resp_0" });
    await expect(refused).rejects.toMatchObject({
      status: 404,
      code: "response_not_found",
      param: "previous_response_id",
    });
  });
});
