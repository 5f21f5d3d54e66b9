import type OpenAI from "openai";
import { afterAll, describe, expect, test } from "vitest";
import { responseObject } from "#framemill/modalities/responses/response-object.js";
import { createScriptedModels, type Script } from "../../support/scripted-model.js";

const models = createScriptedModels();
afterAll(() => models.close());

const THOUGHTS = "Two and two,\n\nthat is < 5.";
const ANSWER = "It is 4.";

/** Families by what their prompts end with and what their models then write. */
const FAMILIES: readonly (Script & { readonly name: string })[] = [
  {
    name: "Qwen3, which begins its thoughts itself",
    forms: "</think>",
    prompt: "[assistant]\n",
    plain: ["<think>", "</think>"],
    answer: `<think>\n${THOUGHTS}\n</think>\n\n${ANSWER}`,
  },
  {
    name: "DeepSeek R1, whose prompt begins them",
    prompt: "[assistant]<think>\n",
    plain: ["<think>", "</think>"],
    answer: `${THOUGHTS}\n</think>\n\n${ANSWER}`,
  },
  {
    name: "one without tokens for them",
    forms: "<think>",
    prompt: "[assistant]",
    answer: `<think>${THOUGHTS}</think>${ANSWER}`,
  },
  {
    name: "Command R7B, of special tokens",
    forms: "<|START_THINKING|>",
    prompt: "[assistant]",
    special: ["<|START_THINKING|>", "<|END_THINKING|>", "<|START_RESPONSE|>", "<|END_RESPONSE|>"],
    answer: `<|START_THINKING|>${THOUGHTS}<|END_THINKING|><|START_RESPONSE|>${ANSWER}<|END_RESPONSE|>`,
  },
];

const question = {
  model: "scripted",
  messages: [{ role: "user" as const, content: "2 + 2?" }],
  temperature: 0,
};

type Message = OpenAI.ChatCompletionMessage & { readonly reasoning_content?: string };
const messageOf = ({ choices }: OpenAI.ChatCompletion) => choices[0]?.message as Message;
const reasoningTokensOf = ({ usage }: OpenAI.ChatCompletion) =>
  usage?.completion_tokens_details?.reasoning_tokens ?? NaN;

describe.each(FAMILIES)("the thoughts of $name", (family) => {
  test("stand apart from the answer, and are counted", async () => {
    const client = await models.open(family);
    const whole = await client.chat.completions.create({ ...question, logprobs: true });
    expect(messageOf(whole)).toMatchObject({ content: ANSWER, reasoning_content: THOUGHTS });
    const told = whole.choices[0]?.logprobs?.content?.map(({ token }) => token).join("");
    expect(told?.trim()).toContain(ANSWER);
    expect(told).not.toContain("Two");
    const reasoningTokens = reasoningTokensOf(whole);
    expect(reasoningTokens).toBeGreaterThan(THOUGHTS.length - 3);
    expect(whole.usage?.completion_tokens).toBeGreaterThanOrEqual(reasoningTokens + ANSWER.length);
  });

  test("stream apart from the answer", async () => {
    const client = await models.open(family);
    const deltas: Partial<Message>[] = [];
    const stream = await client.chat.completions.create({ ...question, stream: true });
    for await (const { choices } of stream) deltas.push(choices[0]?.delta as Partial<Message>);
    expect(deltas.map((delta) => delta.reasoning_content ?? "").join("")).toBe(THOUGHTS);
    expect(deltas.map(({ content }) => content ?? "").join("")).toBe(ANSWER);
  });

  test("are an item of a response before its message", async () => {
    const client = await models.open(family);
    const stream = client.responses.stream({ model: "scripted", input: "2 + 2?", temperature: 0 });
    const types: string[] = [];
    for await (const { type } of stream) if (types.at(-1) !== type) types.push(type);
    expect(types).toEqual([
      "response.created",
      "response.in_progress",
      "response.output_item.added",
      "response.content_part.added",
      "response.reasoning_text.delta",
      "response.reasoning_text.done",
      "response.content_part.done",
      "response.output_item.done",
      "response.output_item.added",
      "response.content_part.added",
      "response.output_text.delta",
      "response.output_text.done",
      "response.content_part.done",
      "response.output_item.done",
      "response.completed",
    ]);
    const answer = await stream.finalResponse();
    expect(responseObject.safeParse(answer).error).toBeUndefined();
    expect(answer.output).toMatchObject([
      { type: "reasoning", content: [{ type: "reasoning_text", text: THOUGHTS }] },
      { type: "message", content: [{ type: "output_text", text: ANSWER }] },
    ]);
    expect(answer.usage?.output_tokens_details.reasoning_tokens).toBeGreaterThan(20);
  });
});

const SAYS_ITS_THOUGHTS = FAMILIES[1] as Script;

test("thoughts that never end are no answer", async () => {
  const client = await models.open(SAYS_ITS_THOUGHTS);
  const cut = await client.chat.completions.create({ ...question, max_tokens: 7 });
  expect(messageOf(cut)).toMatchObject({ content: "", reasoning_content: "Two and" });
  expect(cut.choices[0]?.finish_reason).toBe("length");
  expect(reasoningTokensOf(cut)).toBe(7);
});

test("a text to stop at is looked for in the answer alone", async () => {
  const client = await models.open(SAYS_ITS_THOUGHTS);
  const stopped = await client.chat.completions.create({ ...question, stop: ["t", "4"] });
  expect(messageOf(stopped)).toMatchObject({ content: "I", reasoning_content: THOUGHTS });
});

test("a prompt that has ended the thoughts is followed by the answer", async () => {
  const prompt = "[assistant]<think>\n\n</think>\n\n";
  const client = await models.open({ prompt, answer: ANSWER });
  const whole = await client.chat.completions.create(question);
  expect(messageOf(whole).reasoning_content).toBeUndefined();
  expect(messageOf(whole).content).toBe(ANSWER);
  expect(reasoningTokensOf(whole)).toBe(0);
});

const sum = { type: "object", properties: { sum: { type: "integer" } }, required: ["sum"] };

describe("behind thoughts that are free", () => {
  test.each(FAMILIES)("JSON is held to its schema: $name", async (family) => {
    const client = await models.open(family);
    const held = await client.chat.completions.create({
      ...question,
      max_tokens: 200,
      response_format: { type: "json_schema", json_schema: { name: "sum", schema: sum } },
    });
    const { content, reasoning_content: reasoning } = messageOf(held);
    expect(reasoning).toBe(THOUGHTS);
    expect(JSON.parse(content ?? "")).toEqual({ sum: expect.any(Number) as unknown });
  });

  test("a call is forced", async () => {
    const client = await models.open(SAYS_ITS_THOUGHTS);
    const forced = await client.chat.completions.create({
      ...question,
      max_tokens: 200,
      tool_choice: "required",
      tools: [{ type: "function", function: { name: "add", parameters: sum } }],
    });
    const { tool_calls: calls = [], reasoning_content: reasoning } = messageOf(forced);
    expect(reasoning).toBe(THOUGHTS);
    expect(calls).toMatchObject([{ function: { name: "add" } }]);
    expect(forced.choices[0]?.finish_reason).toBe("tool_calls");
  });
});

test("earlier thoughts reach the template, from chat and from responses", async () => {
  const forms = `{% endif %}{% for m in messages if m.reasoning_content %}({{ m.reasoning_content }}){{ m.content }}{% endfor %}{% if false %}`;
  const client = await models.open({ forms, prompt: "[assistant]<think>", answer: ANSWER });
  const chat = await client.chat.completions.create({
    ...question,
    messages: [
      { role: "user", content: "2 + 2?" },
      {
        role: "assistant",
        content: "4",
        reasoning_content: "because",
      } as OpenAI.ChatCompletionMessageParam,
      { role: "user", content: "Sure?" },
    ],
  });
  expect(chat.usage?.prompt_tokens).toBe("(because)4[assistant]<think>".length);
  const response = await client.responses.create({
    model: "scripted",
    temperature: 0,
    input: [
      { type: "message", role: "user", content: "2 + 2?" },
      {
        type: "reasoning",
        id: "rs_1",
        summary: [],
        content: [{ type: "reasoning_text", text: "because" }],
      },
      { type: "message", role: "assistant", content: "4" },
      { type: "message", role: "user", content: "Sure?" },
    ],
  });
  expect(response.usage?.input_tokens).toBe(chat.usage?.prompt_tokens);
});
