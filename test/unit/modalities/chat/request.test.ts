import { describe, expect, test } from "vitest";
import { promptTexts } from "#framemill/modalities/shared/generation-body.js";
import { parseChatBody } from "#framemill/modalities/chat/request.js";

const messages = [{ role: "user", content: "Hi" }];
const model = {
  id: "m",
  modality: "chat",
  createdAtSeconds: 0,
  concurrency: 1,
  contextTokens: 1_000,
};
const admit = (body: object) => parseChatBody({ model: "m", messages, ...body }, model);
const tool = { type: "function", function: { name: "f", parameters: { type: "object" } } };
const image = { role: "user", content: [{ type: "image_url", image_url: { url: "data:" } }] };

describe("a chat body", () => {
  test("has the defaults of the OpenAI API, and a seed of its own", async () => {
    const request = await admit({});
    expect(request).toMatchObject({
      temperature: 1,
      topP: 1,
      n: 1,
      maxTokens: null,
      stream: false,
    });
    expect(request.toolChoice).toBe("none");
    expect((await admit({})).seed).not.toBe(request.seed);
    expect(JSON.parse(JSON.stringify(request))).toEqual(request);
  });

  test("takes what clients send without meaning it", async () => {
    const ignored = {
      user: "u",
      store: true,
      reasoning_effort: "low",
      modalities: ["text"],
      temperature: null,
      stop: null,
      seed: null,
      prompt_cache_key: "k",
    };
    await expect(admit(ignored)).resolves.toMatchObject({ temperature: 1, stop: [] });
  });

  test("says to the template in all its words how much to think, the caller's own last", async () => {
    const variables = async (body: object) => (await admit(body)).templateVariables;
    expect(await variables({})).toBeUndefined();
    expect(await variables({ reasoning_effort: "minimal" })).toEqual({
      reasoning_effort: "minimal",
      enable_thinking: false,
      thinking: false,
    });
    expect(await variables({ reasoning_effort: "low", enable_thinking: false })).toEqual({
      reasoning_effort: "low",
      enable_thinking: false,
      thinking: false,
    });
    const chat_template_kwargs = { enable_thinking: false, thinking_budget: 10 };
    expect(await variables({ reasoning_effort: "high", chat_template_kwargs })).toEqual({
      reasoning_effort: "high",
      enable_thinking: false,
      thinking: true,
      thinking_budget: 10,
    });
  });

  test.each([
    ["reasoning_effort", { reasoning_effort: "lots" }, "must be none, minimal"],
    ["enable_thinking", { enable_thinking: "no" }, "must be true or false"],
    ["chat_template_kwargs", { chat_template_kwargs: "x" }, "must be an object"],
    [
      "chat_template_kwargs",
      { chat_template_kwargs: { text: "x".repeat(4_096) } },
      "at most 4096 characters of JSON, got 4107",
    ],
    [
      "chat_template_kwargs",
      { chat_template_kwargs: Object.fromEntries(Array(17).entries()) },
      "at most 16 variables, got 17",
    ],
    ["chat_template_kwargs.messages", { chat_template_kwargs: { messages: [] } }, "service's own"],
    ["chat_template_kwargs.a b", { chat_template_kwargs: { "a b": 1 } }, ""],
  ])("refuses %s that no template could read", async (param, body, rule) => {
    await expect(admit(body)).rejects.toMatchObject({
      code: "invalid_value",
      param,
      message: expect.stringContaining(rule),
    });
  });

  test("has a variable's texts judged as a prompt", async () => {
    const chat_template_kwargs = {
      model_identity: "You are a pirate.",
      persona: [{ name: "Jack" }],
    };
    const request = await admit({ chat_template_kwargs, reasoning_effort: "low" });
    expect(promptTexts(request)).toEqual(["Hi", "You are a pirate.", "Jack"]);
  });

  test("has the lengths and penalties that benchmarks ask for", async () => {
    expect(await admit({ min_tokens: 4, repetition_penalty: 1.2 })).toMatchObject({
      minTokens: 4,
      repetitionPenalty: 1.2,
    });
    const whole = await admit({ ignore_eos: true, max_tokens: 50 });
    expect(whole.minTokens).toBeGreaterThanOrEqual(50);
    expect(await admit({ ignore_eos: false, min_tokens: null })).not.toHaveProperty("minTokens");
    const options = { include_usage: true, continuous_usage_stats: true };
    expect(await admit({ stream: true, stream_options: options })).toMatchObject({
      includeUsage: true,
      continuousUsage: true,
    });
  });

  test.each([
    ["messages", { messages: Array(2_049).fill(messages[0]) }, "at most 2048 messages, got 2049"],
    [
      "messages.0.content",
      { messages: [{ role: "user", content: Array(2_049).fill(null) }] },
      "at most 2048 parts, got 2049",
    ],
    [
      "logit_bias",
      { logit_bias: Object.fromEntries(Array(1_025).entries()) },
      "at most 1024 token ids, got 1025",
    ],
    ["tools", { tools: Array(129).fill(null) }, "at most 128 tools, got 129"],
    [
      "messages",
      { messages: [{ role: "user", content: "x".repeat(128_001) }] },
      "maximum context length is 1000 tokens",
    ],
  ])("names the limit of %s", async (param, body, limit) => {
    await expect(admit(body)).rejects.toMatchObject({
      param,
      message: expect.stringContaining(limit),
    });
  });

  test("takes functions whose fields are called constructor and prototype", async () => {
    const properties = { constructor: { type: "string" }, prototype: { type: "integer" } };
    const parameters = { type: "object", properties, required: ["constructor", "valueOf"] };
    const body = {
      tools: [{ type: "function", function: { name: "f", parameters } }],
      tool_choice: "required",
    };
    const request = await admit(JSON.parse(JSON.stringify(body)) as object);
    expect(request.tools[0]?.parameters).toEqual(parameters);
  });

  test("reads parts of text, calls and their results", async () => {
    const call = { id: "c", type: "function", function: { name: "f", arguments: "{}" } };
    const request = await admit({
      tools: [tool],
      messages: [
        { role: "developer", content: "x" },
        {
          role: "user",
          content: [
            { type: "text", text: "a" },
            { type: "input_text", text: "b" },
          ],
        },
        { role: "assistant", content: null, tool_calls: [call] },
        { role: "tool", content: "done", tool_call_id: "c" },
      ],
    });
    expect(request.toolChoice).toBe("auto");
    expect(request.messages).toEqual([
      { role: "developer", content: "x" },
      { role: "user", content: "a\nb" },
      { role: "assistant", content: "", toolCalls: [{ id: "c", name: "f", arguments: "{}" }] },
      { role: "tool", content: "done", toolCallId: "c" },
    ]);
  });

  test.each([
    [{ temperature: 3 }, "temperature", "invalid_value"],
    [{ n: 9 }, "n", "invalid_value"],
    [{ stop: ["a", "b", "c", "d", "e"] }, "stop", "invalid_value"],
    [{ top_logprobs: 2 }, "top_logprobs", "invalid_value"],
    [{ stream_options: { include_usage: true } }, "stream_options", "invalid_value"],
    [{ max_tokens: 1, max_completion_tokens: 2 }, "max_tokens", "invalid_value"],
    [{ tool_choice: "required" }, "tool_choice", "invalid_value"],
    [
      { tools: [tool], tool_choice: { type: "function", function: { name: "g" } } },
      "tool_choice",
      "invalid_value",
    ],
    [{ tools: [tool, tool] }, "tools", "invalid_value"],
    [{ messages: [] }, "messages", "invalid_value"],
    [{ messages: [image] }, "messages.0.content.0.type", "invalid_value"],
    [
      { messages: [{ role: "tool", content: "x", tool_call_id: "c" }] },
      "messages.0.tool_call_id",
      "invalid_value",
    ],
    [{ messages: [{ role: "robot", content: "x" }] }, "messages.0.role", "invalid_value"],
    [{ messages: [{ role: "user" }] }, "messages.0.content", "missing_required_parameter"],
    [{ functions: [] }, "functions", "unknown_parameter"],
    [{ response_format: { type: "xml" } }, "response_format.type", "invalid_value"],
    [
      {
        response_format: {
          type: "json_schema",
          json_schema: { name: "x", strict: true, schema: { not: {} } },
        },
      },
      "response_format",
      "invalid_value",
    ],
  ])("with %j is refused for %s", async (body, param, code) => {
    await expect(admit(body)).rejects.toMatchObject({ param, code });
  });

  test("says plainly that pictures are not read", async () => {
    await expect(admit({ messages: [image] })).rejects.toThrow(/do not read image_url parts/);
  });
});
