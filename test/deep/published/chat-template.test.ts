import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { createChatTemplate } from "#framemill/models/decoder/chat-template.js";
import { HELLO, WEATHER, WITH_CALL } from "../../support/conversations.js";
import { describeWithModels, publishedModel } from "../../support/published-models.js";

function published(name: string): unknown {
  return JSON.parse(
    readFileSync(publishedModel("tokenizers", name, "tokenizer_config.json"), "utf8"),
  );
}

describeWithModels("the published template of", () => {
  test("Qwen 3 writes turns, tools, calls and their results", () => {
    const template = createChatTemplate(published("qwen3"));
    expect(template.toolFormat).toBe("hermes");
    expect(template.render(HELLO, []).text).toBe(
      "<|im_start|>user\nHello<|im_end|>\n<|im_start|>assistant\n",
    );
    const { text, addSpecialTokens } = template.render(WITH_CALL, [WEATHER]);
    expect(addSpecialTokens).toBe(false);
    expect(text).toContain("<|im_start|>system\nBe brief.\n\n# Tools");
    expect(text).toContain('{"type": "function", "function": {"name": "weather"');
    expect(text).toContain(
      '<tool_call>\n{"name": "weather", "arguments": {"city": "Rome"}}\n</tool_call>',
    );
    expect(text).toContain("<tool_response>\nsunny\n</tool_response>");
  });

  test("Phi 3 has no place for tools: they are described in the prompt", () => {
    const template = createChatTemplate(published("phi-3"));
    expect(template.render(HELLO, []).text).toBe("<s><|user|>\nHello<|end|>\n<|assistant|>\n");
    expect(template.toolFormat).toBe("hermes");
  });
});
