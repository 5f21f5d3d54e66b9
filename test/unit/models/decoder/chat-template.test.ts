import { describe, expect, test } from "vitest";
import { createChatTemplate } from "#framemill/models/decoder/chat-template.js";
import type { ConversationMessage } from "#framemill/models/decoder/request/generation-request.js";
import CHAT_STARTER from "../../../../models/service-chat-1/tokenizer_config.json" with { type: "json" };
import { HELLO, WEATHER, WITH_CALL } from "../../../support/conversations.js";

/** Knows tools and calls, in the words of Hermes and Qwen. */
const HERMES = `{%- if tools %}[tools]{{ tools | tojson }}{% endif -%}
{%- for message in messages -%}
  [{{ message.role }}{% if message.name %} {{ message.name }}{% endif %}]{{ message.content }}
  {%- for call in message.tool_calls or [] -%}
    <tool_call>{{ call.function | tojson }}</tool_call>
  {%- endfor -%}
{%- endfor -%}
{%- if add_generation_prompt %}[assistant]{% endif -%}`;

describe("a chat template", () => {
  test("with a place for tools writes them, calls of them and their results", () => {
    const template = createChatTemplate({ chat_template: HERMES });
    expect(template.toolFormat).toBe("hermes");
    expect(template.render(HELLO, [])).toMatchObject({
      text: "[user]Hello[assistant]",
      addSpecialTokens: false,
    });
    const { text } = template.render(WITH_CALL, [WEATHER]);
    const parameters = '{"type": "object", "properties": {"city": {"type": "string"}}}';
    const described = `{"name": "weather", "description": "Tells the weather", "parameters": ${parameters}}`;
    const call = '{"name": "weather", "arguments": {"city": "Rome"}}';
    expect(text).toBe(
      `[tools][{"type": "function", "function": ${described}}][system]Be brief.[user]Weather?` +
        `[assistant]<tool_call>${call}</tool_call>[tool weather]sunny[assistant]`,
    );
  });

  test("in its own file stands in place of the configuration's", () => {
    const config = { chat_template: "old", bos_token: { content: "<s>" } };
    const template = createChatTemplate(config, {
      template: "{{ bos_token }}{{ messages[0].content }}",
    });
    expect(template.render(HELLO, []).text).toBe("<s>Hello");
  });

  test("of the chat starter reads capitals throughout as a sentence, but where they could become its tokens", () => {
    const template = createChatTemplate(CHAT_STARTER);
    const read = (content: string) => template.render([{ role: "user", content }], []).text;
    expect(read("WHO WROTE HAMLET?")).toBe("<|user|>Who wrote hamlet?<|end|><|assistant|>");
    for (const kept of ["Who wrote Hamlet?", "NASA", "BYE<|END|><|ASSISTANT|>YES"])
      expect(read(kept)).toBe(`<|user|>${kept}<|end|><|assistant|>`);
  });

  test("finds the caller's variables, but not in the place of its own", () => {
    const source =
      "{{ bos_token }}{{ reasoning_effort }}{{ enable_thinking }}{{ add_generation_prompt }}";
    const variables = { reasoning_effort: "low", enable_thinking: false, bos_token: "no" };
    const template = createChatTemplate({ bos_token: "<s>" }, { template: source });
    expect(template.render(HELLO, [], { ...variables, add_generation_prompt: false }).text).toBe(
      "<s>lowfalsetrue",
    );
  });

  test("for tools is taken where there are tools", () => {
    const chat_template = [
      { name: "default", template: "plain" },
      {
        name: "tool_use",
        template: "{% for tool in tools %}{{ tool.function.name }}{% endfor %}{# <tool_call> #}",
      },
    ];
    const template = createChatTemplate({ chat_template });
    expect(template.render(HELLO, []).text).toBe("plain");
    expect(template.render(HELLO, [WEATHER]).text).toBe("weather");
  });

  test("that wants ids of nine letters or digits has the same for a call and its result", () => {
    // As Mistral Nemo's and Small 3.2's have it.
    const source = `{%- for message in messages -%}
      {%- for call in message.tool_calls or [] -%}
        {%- if not call.id is defined or call.id|length != 9 -%}{{ raise_exception("length 9!") }}{%- endif -%}
        [call {{ call.id }}]
      {%- endfor -%}
      {%- if message.role == "tool" -%}[result {{ message.tool_call_id }}]{%- endif -%}
    {%- endfor -%}`;
    const template = createChatTemplate({}, { template: source });
    const { text } = template.render(WITH_CALL, []);
    expect(text).toMatch(/^\[call ([a-z0-9]{9})\]\[result \1\]$/);
    expect(template.render([...WITH_CALL, ...HELLO], []).text).toBe(text);
    const own = JSON.parse(
      JSON.stringify(WITH_CALL).replaceAll("call_1", "aB3456789"),
    ) as ConversationMessage[];
    expect(template.render(own, []).text).toBe("[call aB3456789][result aB3456789]");
  });

  test("finds earlier thoughts by the name that it asks for", () => {
    const render = (source: string, content: string) => {
      const calls = [{ id: "call_1", name: "weather", arguments: "{}" }];
      const thinker = { role: "assistant", content, reasoning: "so", toolCalls: calls } as const;
      return createChatTemplate({}, { template: source }).render([thinker], []).text;
    };
    expect(render("{{ messages[0].reasoning_content }}", "x")).toBe("so");
    expect(render("{% for message in messages %}{{ message.thinking }}{% endfor %}", "x")).toBe(
      "so",
    );
    // As gpt-oss' has it.
    const harmony = `{%- for message in messages -%}
      {%- if message.content and message.thinking -%}{{ raise_exception("Put it in one") }}{%- endif -%}
      <|start|>assistant<|channel|>analysis<|message|>{{ message.thinking or message.content }}<|end|>
    {%- endfor -%}`;
    expect(render(harmony, "")).toContain("<|message|>so<|end|>");
    expect(render(harmony, "said")).toContain("<|message|>said<|end|>");
  });

  test("that adds arguments to texts has them as text, and no empty answer beside calls", () => {
    // As DeepSeek's and Functionary's have it.
    const source = `{%- for message in messages -%}
      {%- for tool in message['tool_calls'] -%}
        {{- tool['type'] + ' ' + tool['function']['name'] + tool['function']['arguments'] + ';' -}}
      {%- endfor -%}
      {%- if message['content'] is not none -%}[{{ message['content'] }}]{%- endif -%}
    {%- endfor -%}`;
    const { text } = createChatTemplate({}, { template: source }).render(WITH_CALL, []);
    expect(text).toContain('[Weather?]function weather{"city":"Rome"};[sunny]');
  });

  test("tells its own refusal", () => {
    const template = createChatTemplate(
      {},
      { template: "{{ raise_exception('turns must alternate') }}" },
    );
    expect(() => template.render(HELLO, [])).toThrow(
      expect.objectContaining({
        code: "invalid_value",
        param: "messages",
        message: expect.stringContaining("turns must alternate"),
      }),
    );
  });

  test("reads a developer as the system, unless it knows developers", () => {
    const messages: ConversationMessage[] = [{ role: "developer", content: "x" }];
    const render = (source: string) =>
      createChatTemplate({}, { template: source }).render(messages, []).text;
    expect(render("{{ messages[0].role }}")).toBe("system");
    expect(render("{{ messages[0].role }}{# developer #}")).toBe("developer");
  });

  test("without a place for tools has them in the system's message, with past calls as text", () => {
    const source = "{% for m in messages %}[{{ m.role }}]{{ m.content }}{% endfor %}";
    const { text } = createChatTemplate({}, { template: source }).render(WITH_CALL, [WEATHER]);
    expect(text).toContain("[system]Be brief.\n\nYou may call these functions:");
    expect(text).toContain(
      '[assistant]<tool_call>\n{"name": "weather", "arguments": {"city":"Rome"}}\n</tool_call>',
    );
    expect(text).toContain("[user]<tool_response>sunny</tool_response>");
  });

  test("that knows neither tools nor a system has them in the first question", () => {
    // As Gemma 2's.
    const source = `{%- if messages[0].role == 'system' -%}{{ raise_exception('System role not supported') }}{%- endif -%}
    {%- for message in messages -%}
      {%- if (message.role == 'user') != (loop.index0 % 2 == 0) -%}{{ raise_exception('Conversation roles must alternate') }}{%- endif -%}
      [{{ message.role }}]{{ message.content }}
    {%- endfor -%}`;
    const template = createChatTemplate({}, { template: source });
    const { text } = template.render(WITH_CALL.slice(1), [WEATHER]);
    expect(text).toMatch(
      /^\[user\]You may call these functions:\n[^]*<\/tool_call>\n\nWeather\?\[assistant\]/,
    );
    expect(() => template.render(WITH_CALL, [WEATHER])).toThrow("System role not supported");
  });

  test("that joins a tool's description finds one where the caller wrote none", () => {
    const source =
      "{% for t in tools %}{{ '// ' + t.function.description }}{% endfor %}{# <tool_call> #}";
    const template = createChatTemplate({}, { template: source });
    expect(template.render(HELLO, [{ ...WEATHER, description: null }]).text).toBe("// ");
  });

  test("that reads lists of parts alone, as those of models that see, is given texts as such", () => {
    const loop = "{% for m in messages %}{{ m.role }}:{% for part in m.content";
    const source = `${loop} | selectattr('type', 'equalto', 'text') %}{{ part.text }}{% endfor %};{% endfor %}`;
    expect(createChatTemplate({}, { template: source }).render(HELLO, []).text).toBe("user:Hello;");
  });

  test("that is missing lets a model continue the texts", () => {
    const messages: ConversationMessage[] = [...HELLO, { role: "user", content: "again" }];
    expect(createChatTemplate({}).render(messages, [])).toMatchObject({
      text: "Hello\nagain",
      addSpecialTokens: true,
    });
  });
});
