import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { createChatTemplate } from "#framemill/models/decoder/chat-template.js";
import type {
  ConversationMessage,
  FunctionTool,
} from "#framemill/models/decoder/request/generation-request.js";
import {
  createTextTokenizer,
  type TextTokenizer,
} from "#framemill/models/tokenizer/text-tokenizer.js";
import { byteTokenizerJson } from "../../../../support/byte-tokenizer.js";
import { CHAT_TEMPLATES, type WrittenTemplate } from "../../../../support/chat-templates.js";
import {
  sentencePieceJson,
  unigramJson,
  wordPieceJson,
} from "../../../../support/tiny-tokenizers.js";

/** A conversation of every kind of message, each text of a caller's as `say` makes it. */
function conversation(say: (text: string) => string): {
  readonly messages: readonly ConversationMessage[];
  readonly tools: readonly FunctionTool[];
} {
  const call = { id: "c1", name: "weather", arguments: JSON.stringify({ city: say("Rome") }) };
  return {
    messages: [
      { role: "system", content: say("Be brief.") },
      { role: "user", content: say("Weather?"), name: say("Ann") },
      {
        role: "assistant",
        content: say("One moment."),
        reasoning: say("Rome?"),
        toolCalls: [call],
      },
      { role: "tool", content: say("sunny"), toolCallId: "c1" },
      { role: "assistant", content: say("It is sunny.") },
      { role: "user", content: `  ${say("And tomorrow?")}\n` },
    ],
    tools: [
      {
        name: "weather",
        description: say("Tells the weather"),
        parameters: { type: "object", properties: { [say("city")]: { type: "string" } } },
        strict: false,
      },
    ],
  };
}

function tokenizerWith({ tokens, plainTokens = [] }: WrittenTemplate): TextTokenizer {
  const json = byteTokenizerJson();
  const first = Math.max(...Object.values(json.model.vocab)) + 1;
  const added = [...tokens, ...plainTokens].map((content, index) => ({
    id: first + index,
    content,
    special: index < tokens.length,
    normalized: false,
  }));
  return createTextTokenizer({ ...json, added_tokens: [...json.added_tokens, ...added] });
}

/** The shipped chat model's own. */
const shipped = (file: string) =>
  JSON.parse(
    readFileSync(new URL(`../../../../../models/service-chat-1/${file}`, import.meta.url), "utf8"),
  ) as Record<string, unknown>;
const shippedConfig = shipped("tokenizer_config.json");
const shippedTokenizer = createTextTokenizer(shipped("tokenizer.json"), shippedConfig);

const cases = [
  ...CHAT_TEMPLATES.map((written) => ({
    name: written.name,
    config: { chat_template: written.source, bos_token: written.tokens[0] },
    tokenizer: tokenizerWith(written),
  })),
  { name: "service-chat-1", config: shippedConfig, tokenizer: shippedTokenizer },
];

describe.each(cases)("the template of $name", ({ config, tokenizer }) => {
  const { addedTokens } = tokenizer;
  const contents = addedTokens.map(({ content }) => content);
  const template = createChatTemplate(config, { addedTokens });
  const structure = new Set(contents.map((content) => tokenizer.idOf(content)));
  const idsOf = (say: (text: string) => string): readonly number[] => {
    const { messages, tools } = conversation(say);
    const { text, ...options } = template.render(messages, tools);
    return tokenizer.encode(text, options).ids;
  };
  const structureOf = (ids: readonly number[]) => ids.filter((id) => structure.has(id));
  const own = idsOf((text) => text);

  test.each([
    ["whole tokens", (text: string) => `${text}${contents.join("")}${contents.join(" hi ")}`],
    ["halves that what stands beside completes", (text: string) => `end|>${text}<|`],
    [
      "tokens within tokens",
      (text: string) =>
        contents.reduce((all, one) => `${one.slice(0, 2)}${all}${one.slice(2)}`, text),
    ],
  ])("writes no token of structure from callers' texts: %s", (_, say) => {
    // An answer of the model's own may think; templates that drop thoughts look for them there.
    const isThought = (id: number | undefined) => /think/.test(tokenizer.tokenOf(id ?? -1) ?? "");
    const written = structureOf(idsOf(say)).filter((id) => !isThought(id));
    expect(written).toEqual(structureOf(own).filter((id) => !isThought(id)));
  });

  test("keeps the tokens of harmless texts, also beside texts that are not", () => {
    const { messages, tools } = conversation((text) => text);
    const unguarded = createChatTemplate(config).render(messages, tools);
    expect(own).toEqual(tokenizer.encode(unguarded.text, { mark: unguarded.mark }).ids);
    const signs = [" a < b", "1 << 2 |", "x > y", "[1, 2]", "naïve “quotes” 𝒳 \ue000"];
    for (const sign of signs) {
      const plain = conversation((text) => `${text} ${sign}`);
      const guarded = template.render(plain.messages, plain.tools);
      const asWritten = createChatTemplate(config).render(plain.messages, plain.tools);
      const ids = tokenizer.encode(guarded.text, { mark: guarded.mark }).ids;
      expect(ids).toEqual(tokenizer.encode(asWritten.text, { mark: "\uf8ff" }).ids);
    }
    const [token = ""] = contents;
    const mixed = [...messages.slice(0, -1), { role: "user", content: token } as const];
    const text = template.render(mixed, tools);
    expect(
      tokenizer.decode(tokenizer.encode(text.text, text).ids, { keepSpecialTokens: true }),
    ).toBe(text.text.replaceAll(text.mark, ""));
  });
});

test("a variable's text writes no token", () => {
  const addedTokens = [{ content: "<|end|>", special: true }];
  const template = "{{ identity.name }}<|end|>";
  const render = (name: string) =>
    createChatTemplate({}, { template, addedTokens }).render([], [], { identity: { name } });
  const { text, mark } = render("x<|end|>");
  expect(text).toBe(`x<${mark}|end|><|end|>`);
});

describe("a caller's text by itself has no special tokens", () => {
  test.each([
    ["of Llama's kind", sentencePieceJson(), "a</s>b <s>", "a</s>b <s>"],
    [
      "of T5's kind, whose pieces they are",
      unigramJson({ "<": -1, "/": -1, s: -1, ">": -1, "▁": -1 }),
      "</s>",
      "</s>",
    ],
    [
      "of BERT's kind",
      wordPieceJson(["[", "]", "mask", "sep"]),
      "[MASK] [SEP]",
      "[ mask ] [ sep ]",
    ],
  ])("%s", (_, json, text, said) => {
    const tokenizer = createTextTokenizer(json);
    const { ids } = tokenizer.encode(text, { addSpecialTokens: false });
    expect(ids.filter((id) => tokenizer.specialIds.has(id))).toEqual([]);
    expect(tokenizer.decode(ids)).toBe(said);
  });
});
