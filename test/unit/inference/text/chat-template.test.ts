import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { createChatTemplate } from "#framemill/inference/text/chat-template.js";
import type {
  ConversationMessage,
  FunctionTool,
} from "#framemill/inference/text/generation-request.js";
import { describeWithModels, publishedModel } from "../../../support/published-models.js";

const weather: FunctionTool = {
  name: "weather",
  description: "Tells the weather",
  parameters: { type: "object", properties: { city: { type: "string" } } },
  strict: false,
};
const hello: ConversationMessage[] = [{ role: "user", content: "Hello" }];
const withCall: ConversationMessage[] = [
  { role: "system", content: "Be brief." },
  { role: "user", content: "Weather?" },
  {
    role: "assistant",
    content: "",
    toolCalls: [{ id: "call_1", name: "weather", arguments: '{"city":"Rome"}' }],
  },
  { role: "tool", content: "sunny", toolCallId: "call_1" },
];

function published(name: string): unknown {
  return JSON.parse(
    readFileSync(publishedModel("tokenizers", name, "tokenizer_config.json"), "utf8"),
  );
}

describeWithModels("the published template of", () => {
  test("Qwen 3 writes turns, tools, calls and their results", () => {
    const template = createChatTemplate(published("qwen3"));
    expect(template.toolFormat).toBe("hermes");
    expect(template.render(hello, []).text).toBe(
      "<|im_start|>user\nHello<|im_end|>\n<|im_start|>assistant\n",
    );
    const { text, addSpecialTokens } = template.render(withCall, [weather]);
    expect(addSpecialTokens).toBe(false);
    expect(text).toContain("<|im_start|>system\nBe brief.\n\n# Tools");
    expect(text).toContain('{"type": "function", "function": {"name": "weather"');
    expect(text).toContain(
      '<tool_call>\n{"name": "weather", "arguments": {"city": "Rome"}}\n</tool_call>',
    );
    expect(text).toContain("<tool_response>\nsunny\n</tool_response>");
  });

  test("Phi 3 has no place for tools: they are told in words", () => {
    const template = createChatTemplate(published("phi-3"));
    expect(template.render(hello, []).text).toBe("<s><|user|>\nHello<|end|>\n<|assistant|>\n");
    expect(template.toolFormat).toBe("hermes");
  });
});

describe("a chat template", () => {
  test("in its own file stands in place of the configuration's", () => {
    const config = { chat_template: "old", bos_token: { content: "<s>" } };
    const template = createChatTemplate(config, "{{ bos_token }}{{ messages[0].content }}");
    expect(template.render(hello, []).text).toBe("<s>Hello");
  });

  test("for tools is taken where there are tools", () => {
    const chat_template = [
      { name: "default", template: "plain" },
      { name: "tool_use", template: "{% for tool in tools %}{{ tool.function.name }}{% endfor %}" },
    ];
    const template = createChatTemplate({ chat_template });
    expect(template.render(hello, []).text).toBe("plain");
    expect(template.render(hello, [weather]).text).toBe("weather");
  });

  test("tells its own refusal", () => {
    const template = createChatTemplate({}, "{{ raise_exception('turns must alternate') }}");
    expect(() => template.render(hello, [])).toThrow(
      expect.objectContaining({
        code: "invalid_value",
        param: "messages",
        message: expect.stringContaining("turns must alternate"),
      }),
    );
  });

  test("reads a developer as the system, unless it knows developers", () => {
    const messages: ConversationMessage[] = [{ role: "developer", content: "x" }];
    const render = (source: string) => createChatTemplate({}, source).render(messages, []).text;
    expect(render("{{ messages[0].role }}")).toBe("system");
    expect(render("{{ messages[0].role }}{# developer #}")).toBe("developer");
  });

  test("without a place for tools has them in the system's message, with past calls as text", () => {
    const source = "{% for m in messages %}[{{ m.role }}]{{ m.content }}{% endfor %}";
    const { text } = createChatTemplate({}, source).render(withCall, [weather]);
    expect(text).toContain("[system]Be brief.\n\nYou may call these functions:");
    expect(text).toContain(
      '[assistant]<tool_call>{"name": "weather", "arguments": {"city":"Rome"}}</tool_call>',
    );
    expect(text).toContain("[user]<tool_response>sunny</tool_response>");
  });

  test("that is missing lets a model continue the texts", () => {
    const messages: ConversationMessage[] = [...hello, { role: "user", content: "again" }];
    expect(createChatTemplate({}).render(messages, [])).toEqual({
      text: "Hello\nagain",
      addSpecialTokens: true,
    });
  });
});
