import type OpenAI from "openai";
import { afterAll, describe, expect, test } from "vitest";
import { createScriptedModels } from "../../support/scripted-model.js";

const models = createScriptedModels();
afterAll(() => models.close());

const TOKENS = "start channel constrain message end call return".split(" ");
const HARMONY = {
  special: TOKENS.map((name) => `<|${name}|>`),
  forms: "<|channel|>commentary to=functions.<|message|>",
  prompt: "<|start|>assistant",
};
const THOUGHTS = "<|channel|>analysis<|message|>It is < 5.<|end|><|start|>assistant";
const WRITTEN = '{"city": "Rome"}';

const parameters = {
  type: "object",
  properties: { city: { enum: ["Paris", "Rome"] } },
  required: ["city"],
};
const tool = { type: "function" as const, function: { name: "weather", parameters } };
const question = {
  model: "scripted",
  messages: [{ role: "user" as const, content: "2 + 2?" }],
  temperature: 0,
  max_tokens: 200,
};

type Body = Partial<OpenAI.ChatCompletionCreateParamsNonStreaming>;
type Message = OpenAI.ChatCompletionMessage & { readonly reasoning_content?: string };

async function ask(answer: string, body: Body = {}) {
  const client = await models.open({ ...HARMONY, answer });
  const { choices, usage } = await client.chat.completions.create({ ...question, ...body });
  const [choice] = choices;
  if (choice === undefined) throw new Error("there is no choice");
  return { choice, message: choice.message as Message, usage };
}

describe("Harmony's channels", () => {
  test("are thoughts and answer, up to the token that ends it", async () => {
    const answer = `${THOUGHTS}<|channel|>final<|message|>It is 4.<|return|>more`;
    const { choice, message, usage } = await ask(answer, { logprobs: true });
    expect(message).toMatchObject({ content: "It is 4.", reasoning_content: "It is < 5." });
    expect(choice.finish_reason).toBe("stop");
    const told = choice.logprobs?.content?.map(({ token }) => token).join("");
    expect(told).toBe("It is 4.");
    const { completion_tokens: all = 0, completion_tokens_details: details } = usage ?? {};
    expect(details?.reasoning_tokens).toBe(all - "It is 4.".length - 1);
  });

  test("stream apart", async () => {
    const answer = `${THOUGHTS}<|channel|>final<|message|>It is 4.<|return|>`;
    const client = await models.open({ ...HARMONY, answer });
    const deltas: Partial<Message>[] = [];
    const stream = await client.chat.completions.create({ ...question, stream: true });
    for await (const { choices } of stream) deltas.push(choices[0]?.delta as Partial<Message>);
    const join = (key: "content" | "reasoning_content") =>
      deltas.map((delta) => delta[key] ?? "").join("");
    expect(join("reasoning_content")).toBe("It is < 5.");
    expect(join("content")).toBe("It is 4.");
    expect(deltas.length).toBeGreaterThan(8);
  });

  test.each([
    `${THOUGHTS} to=functions.weather<|channel|>commentary json<|message|>${WRITTEN}<|call|>`,
    `${THOUGHTS}<|channel|>commentary to=functions.weather <|constrain|>json<|message|>${WRITTEN}<|call|>`,
  ])("hold calls: %s", async (answer) => {
    const { choice, message } = await ask(`${answer}more`, { tools: [tool] });
    expect(message).toMatchObject({
      content: null,
      reasoning_content: "It is < 5.",
      tool_calls: [{ function: { name: "weather", arguments: '{"city":"Rome"}' } }],
    });
    expect(choice.finish_reason).toBe("tool_calls");
  });

  test("say before a call what is for the caller", async () => {
    const said = "<|channel|>commentary<|message|>I look.<|end|><|start|>assistant";
    const call = "<|channel|>commentary to=functions.weather<|message|>{}<|call|>";
    const { message } = await ask(`${said}${call}`, { tools: [tool] });
    expect(message.content).toBe("I look.");
    expect(message.tool_calls).toHaveLength(1);
  });

  test("may be missing from a model that was trained on since", async () => {
    const { message } = await ask("2 + 2 is 4.<|return|>");
    expect(message.content).toBe("2 + 2 is 4.");
    expect(message.reasoning_content).toBeUndefined();
  });
});

describe("behind Harmony's thoughts", () => {
  const free = `${THOUGHTS}<|channel|>final<|message|>Sunny, I would say.<|return|>`;

  test("an answer is held to its schema, in the final channel", async () => {
    const { choice, message } = await ask(free, {
      response_format: {
        type: "json_schema",
        json_schema: { name: "place", schema: parameters, strict: true },
      },
    });
    expect(message.reasoning_content).toBe("It is < 5.");
    expect(parameters.properties.city.enum).toContain(
      (JSON.parse(message.content ?? "") as { city: string }).city,
    );
    expect(choice.finish_reason).toBe("stop");
  });

  test("a call is forced", async () => {
    const { choice, message } = await ask(free, { tools: [tool], tool_choice: "required" });
    expect(message.reasoning_content).toBe("It is < 5.");
    expect(message.content).toBeNull();
    const [call] = message.tool_calls ?? [];
    if (call?.type !== "function") throw new Error("there is no call");
    expect(call.function.name).toBe("weather");
    expect(JSON.parse(call.function.arguments)).toEqual({
      city: expect.stringMatching(/^(Paris|Rome)$/) as unknown,
    });
    expect(choice.finish_reason).toBe("tool_calls");
  });

  test("a strict function is called as its schema says, or the caller is answered", async () => {
    const strict = { ...tool, function: { ...tool.function, strict: true } };
    const answered = await ask(free, { tools: [strict] });
    expect(answered.message.content).toBe("Sunny, I would say.");
    const wrong = '{"city": "Oslo"}';
    const called = await ask(
      `${THOUGHTS}<|channel|>commentary to=functions.weather <|constrain|>json<|message|>${wrong}<|call|>`,
      { tools: [strict] },
    );
    const [call] = called.message.tool_calls ?? [];
    expect(call?.type === "function" && call.function.arguments).toMatch(/Paris|Rome/);
  });
});
