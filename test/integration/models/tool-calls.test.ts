import { afterAll, describe, expect, test } from "vitest";
import { createScriptedModels, type Script } from "../../support/scripted-model.js";

const models = createScriptedModels();
afterAll(() => models.close());

/** How models of each family call, with what their templates show of it and the tokens they have. */
const FAMILIES: readonly (Script & { readonly name: string })[] = [
  {
    name: "Qwen3-Coder",
    forms: "{{ tools }}{{ tool_calls }}<tool_call><function=f><parameter=p>",
    plain: ["<tool_call>", "</tool_call>"],
    prompt: "[assistant]",
    answer:
      "Look:\n<tool_call>\n<function=weather>\n<parameter=city>\nRome\n</parameter>\n<parameter=days>\n2\n</parameter>\n</function>\n</tool_call>",
  },
  {
    name: "GLM 4.6",
    forms: "{{ tools }}{{ tool_calls }}<tool_call>f<arg_key>k</arg_key><think></think>",
    plain: [
      "<tool_call>",
      "</tool_call>",
      "<arg_key>",
      "</arg_key>",
      "<arg_value>",
      "</arg_value>",
    ],
    prompt: "[assistant]",
    answer:
      "<think>Hm.</think>\nLook:\n<tool_call>weather\n<arg_key>city</arg_key>\n<arg_value>Rome</arg_value>\n<arg_key>days</arg_key>\n<arg_value>2</arg_value>\n</tool_call>",
  },
  {
    name: "LFM2, whose template leaves calls out",
    forms: "{{ tools }}",
    special: ["<|tool_call_start|>", "<|tool_call_end|>"],
    prompt: "[assistant]",
    answer: "Look:\n<|tool_call_start|>[weather(city='Rome', days=2)]<|tool_call_end|>",
  },
  {
    name: "Gemma 4",
    forms: "{{ tools }}{{ tool_calls }}<|tool_call>call:f<tool_call|>",
    special: ["<|tool_call>", "<tool_call|>", '<|"|>'],
    prompt: "[assistant]",
    answer: 'Look:\n<|tool_call>call:weather{city:<|"|>Rome<|"|>,days:2}<tool_call|>',
  },
  {
    name: "DeepSeek R1, whose prompt begins its thoughts",
    forms: "{{ tool_calls }}<｜tool▁calls▁begin｜>```json<think>",
    plain: ["<think>", "</think>"],
    special: [
      "<｜tool▁calls▁begin｜>",
      "<｜tool▁call▁begin｜>",
      "<｜tool▁sep｜>",
      "<｜tool▁call▁end｜>",
      "<｜tool▁calls▁end｜>",
    ],
    prompt: "[assistant]<think>",
    answer:
      'Hm.</think>\nLook:\n<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>weather\n```json\n{"city": "Rome", "days": 2}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>',
  },
  {
    name: "Command R7B",
    forms: "{{ tools }}{{ tool_calls }}<|START_ACTION|>tool_name<|START_THINKING|>",
    special: [
      "<|START_THINKING|>",
      "<|END_THINKING|>",
      "<|START_ACTION|>",
      "<|END_ACTION|>",
      "<|START_RESPONSE|>",
    ],
    prompt: "[assistant]",
    answer:
      '<|START_THINKING|>Hm.<|END_THINKING|>Look:<|START_ACTION|>[\n    {"tool_call_id": "0", "tool_name": "weather", "parameters": {"city": "Rome", "days": 2}}\n]<|END_ACTION|>',
  },
  {
    name: "Kimi K2",
    forms: "{{ tools }}{{ tool_calls }}",
    special: [
      "<|tool_calls_section_begin|>",
      "<|tool_call_begin|>",
      "<|tool_call_argument_begin|>",
      "<|tool_call_end|>",
      "<|tool_calls_section_end|>",
    ],
    prompt: "[assistant]",
    answer:
      'Look:<|tool_calls_section_begin|><|tool_call_begin|>functions.weather:0<|tool_call_argument_begin|>{"city": "Rome", "days": 2}<|tool_call_end|><|tool_calls_section_end|>',
  },
];

const parameters = {
  type: "object",
  properties: { city: { enum: ["Paris", "Rome"] }, days: { type: "integer" } },
  required: ["city", "days"],
};
const tools = [{ type: "function" as const, function: { name: "weather", parameters } }];
const question = {
  model: "scripted",
  messages: [{ role: "user" as const, content: "Weather?" }],
  temperature: 0,
  max_tokens: 400,
  tools,
};

describe.each(FAMILIES)("$name", (family) => {
  test("has its calls read, with arguments of the schema's types", async () => {
    const client = await models.open(family);
    const { choices } = await client.chat.completions.create(question);
    expect(choices[0]?.message.content).toBe("Look:");
    expect(choices[0]?.message.tool_calls).toMatchObject([
      { function: { name: "weather", arguments: '{"city":"Rome","days":2}' } },
    ]);
    expect(choices[0]?.finish_reason).toBe("tool_calls");
  });

  test.each([
    ["that is forced, behind its thoughts", "required"],
    ["that it chooses to make, behind its text", "auto"],
  ] as const)("is held to the schema of a call %s", async (_, choice) => {
    const answer = family.answer.replaceAll("Rome", "Oslo");
    const client = await models.open({ ...family, answer });
    const asked = { ...question, tool_choice: choice, parallel_tool_calls: false };
    const { choices } = await client.chat.completions.create(asked);
    const [call] = choices[0]?.message.tool_calls ?? [];
    if (call?.type !== "function") throw new Error("there is no call");
    expect(JSON.parse(call.function.arguments)).toEqual({
      city: expect.stringMatching(/^(Paris|Rome)$/) as unknown,
      days: expect.any(Number) as unknown,
    });
  });
});
