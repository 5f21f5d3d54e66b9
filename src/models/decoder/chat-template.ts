import { createHash } from "node:crypto";
import { z } from "zod";
import { JobError, messageOf } from "../../core/errors.js";
import {
  type ModelPackage,
  readModelJson,
  readModelText,
} from "../../runtime/packages/model-package.js";
import { parseJson } from "../../runtime/packages/parse-settings.js";
import { parseTemplate, type Template } from "./jinja.js";
import type { ConversationMessage, FunctionTool } from "./request/generation-request.js";
import type { AddedToken } from "../tokenizer/text-tokenizer.js";
import { thinkingMarkers } from "./thinking/index.js";
import { callMarkers, createTextMarker, detectFormat, writeCalls } from "./tools/index.js";
import type { ThinkingSpec, ToolCallFormat } from "./request/request.js";

export interface ChatPrompt {
  readonly text: string;
  /** Whether the tokenizer adds its own tokens: a template writes them itself. */
  readonly addSpecialTokens: boolean;
  /** How thoughts stand before the answer; absent where the template knows none, or has ended them. */
  readonly thinking?: ThinkingSpec;
  /** Tokens of structure that the answer is read by: they stand around thoughts and calls. */
  readonly keepSpecialTokens: readonly string[];
  /** Stands within what a caller's text has of the tokens of structure, and is no part of it. */
  readonly mark: string;
}

/** Further variables of a template, by name; those of the conversation and of the tokens stay. */
type TemplateVariables = Readonly<Record<string, unknown>>;

/** Turns a conversation into the text that the model was trained on. */
export interface ChatTemplate {
  /** How calls are written, by the model's own template where it knows any. */
  readonly toolFormat: ToolCallFormat;
  /** Whether it has tools, and calls in no form that is known: tools are told in words in its place. */
  readonly hasUnknownCalls: boolean;
  /** Whether the model has none: what was said is put one below the other, without roles. */
  readonly isPlain: boolean;
  /** Throws `invalid_value` with the template's own sentence where it refuses the messages. */
  render(
    messages: readonly ConversationMessage[],
    tools: readonly FunctionTool[],
    variables?: TemplateVariables,
  ): ChatPrompt;
}

const token = z
  .union([z.string(), z.object({ content: z.string() }).transform(({ content }) => content)])
  .nullish();
const templates = z.union([
  z.string(),
  z
    .array(z.object({ name: z.string(), template: z.string() }))
    .transform((list) => Object.fromEntries(list.map((one) => [one.name, one.template]))),
  z.record(z.string(), z.string()),
]);
const tokenizerConfig = z.object({
  chat_template: templates.nullish(),
  bos_token: token,
  eos_token: token,
  unk_token: token,
  pad_token: token,
});

/** The template of a package: its own file, or what its tokenizer's configuration holds. */
export async function openChatTemplate(
  model: ModelPackage,
  addedTokens: readonly AddedToken[],
): Promise<ChatTemplate> {
  const config = await readModelJson(model, "tokenizer-config", z.unknown(), {});
  const file = model.files["chat-template"];
  if (!file) return createChatTemplate(config, { addedTokens });
  const template = templateOfFile(file.path, await readModelText(model, "chat-template"));
  return createChatTemplate(config, { template, addedTokens });
}

/** The template that `chat_template.jinja` or `chat_template.json` holds. */
export function templateOfFile(path: string, text: string): string {
  return path.endsWith(".json") ? parseJson(chatTemplateJson, text, "chat_template.json") : text;
}

const chatTemplateJson = z
  .object({ chat_template: z.string() })
  .transform((file) => file.chat_template);

export interface ChatTemplateOptions {
  /** Stands in place of the configuration's own. */
  readonly template?: string;
  /** Of the model's tokenizer: callers' texts cannot write them. */
  readonly addedTokens?: readonly AddedToken[];
}

export function createChatTemplate(
  config: unknown,
  { template, addedTokens = [] }: ChatTemplateOptions = {},
): ChatTemplate {
  const { chat_template: own, ...tokens } = tokenizerConfig.parse(config);
  const source = template ?? own;
  if (source === null || source === undefined) return createPlainTemplate(addedTokens);
  const named = typeof source === "string" ? { default: source } : source;
  const text = named["default"] ?? Object.values(named)[0] ?? "";
  const plain = { source: text, parsed: parseChatTemplate(text) };
  const toolText = named["tool_use"];
  const forTools =
    toolText === undefined ? plain : { source: toolText, parsed: parseChatTemplate(toolText) };
  const place = findPlace(forTools.source, addedTokens, acceptsSystem(plain.parsed, tokens));
  const markTexts = createTextMarker(addedTokens, {
    template: `${text}${toolText ?? ""}`,
    callMarkers: callMarkers(place.format),
  });
  return {
    toolFormat: place.format,
    hasUnknownCalls: place.hasUnknownCalls,
    isPlain: false,
    render(sentMessages, sentTools, sentVariables = {}) {
      const texts = markTexts(sentMessages, sentTools, sentVariables);
      const { messages, tools, variables, mark } = texts;
      const offersTools = place.knowsTools && tools.length > 0;
      const { source: chosen, parsed } = offersTools ? forTools : plain;
      const conversation = placeTools(messages, tools, place);
      const items = {
        ...variables,
        ...tokens,
        messages: conversation.map((message) => toTemplateMessage(message, messages, chosen)),
        ...(offersTools && { tools: tools.map(toTemplateTool) }),
        add_generation_prompt: true,
      };
      const prompt = render(parsed, items);
      const thinking = thinkingAfter(prompt, chosen);
      const keepSpecialTokens = [
        ...(thinking ? thinkingMarkers(thinking) : []),
        ...(tools.length > 0 ? callMarkers(place.format) : []),
      ];
      const answer = { keepSpecialTokens, ...(thinking && { thinking }) };
      return { text: prompt, addSpecialTokens: false, mark, ...answer };
    },
  };
}

/** A model that was trained on no conversations continues their texts. */
function createPlainTemplate(addedTokens: readonly AddedToken[]): ChatTemplate {
  const place = findPlace("", [], true);
  const markTexts = createTextMarker(addedTokens, {
    template: "",
    callMarkers: callMarkers(place.format),
  });
  return {
    toolFormat: place.format,
    hasUnknownCalls: false,
    isPlain: true,
    render(sentMessages, sentTools) {
      const { messages, tools, mark } = markTexts(sentMessages, sentTools);
      const conversation = placeTools(messages, tools, place);
      const text = conversation.map(({ content }) => content).filter((content) => content !== "");
      return { text: text.join("\n"), addSpecialTokens: true, mark, keepSpecialTokens: [] };
    },
  };
}

/** How thoughts stand before an answer, by the markers that a template has of them. */
const THINKING_MARKERS = [
  // Qwen3, DeepSeek R1, SmolLM3, Granite, GLM and most others.
  { begin: "<think>", end: "</think>" },
  // Gemma 4, Command R7B and A, Magistral, Seed, Apriel.
  { begin: "<|channel>thought", end: "<channel|>" },
  { begin: "<|START_THINKING|>", end: "<|END_THINKING|>" },
  { begin: "[THINK]", end: "[/THINK]" },
  { begin: "<seed:think>", end: "</seed:think>" },
  { begin: "Here are my reasoning steps:", end: "[BEGIN FINAL RESPONSE]" },
];

/** A prompt may begin the thoughts, or end them where none are wanted; else it is for the model to begin. */
function thinkingAfter(prompt: string, template: string): ThinkingSpec | undefined {
  if (isHarmony(template)) return { form: "harmony" };
  const markers = THINKING_MARKERS.find(
    ({ begin, end }) => template.includes(begin) || template.includes(end),
  );
  const last = prompt.trimEnd();
  if (markers === undefined || last.endsWith(markers.end)) return undefined;
  return { form: "markers", ...markers, isBegun: last.endsWith(markers.begin) };
}

function isHarmony(template: string): boolean {
  return template.includes("<|channel|>") && template.includes("<|message|>");
}

/** Whether a template takes instructions: Gemma 2's refuses them. */
function acceptsSystem(template: ParsedTemplate, tokens: object): boolean {
  const instructions = { role: "system", content: "x" };
  const question = { role: "user", content: "x" };
  const takes = (...messages: readonly object[]): boolean => {
    try {
      template.render({ ...tokens, messages, add_generation_prompt: true });
      return true;
    } catch {
      return false;
    }
  };
  return takes(instructions, question) || !takes(question);
}

function render(template: ParsedTemplate, items: Record<string, unknown>): string {
  try {
    return template.render(items);
  } catch (cause) {
    const reason = messageOf(cause);
    const message = `the model's chat template refuses these messages: ${reason}`;
    throw new JobError("invalid_value", message, { param: "messages", cause });
  }
}

/** The shape that Hugging Face's templates read; arguments are objects where they are JSON. */
function toTemplateMessage(
  message: ConversationMessage,
  all: readonly ConversationMessage[],
  source: string,
): Record<string, unknown> {
  const idOf = WANTS_SHORT_IDS.test(source) ? shortId : (id: string) => id;
  if (message.role === "tool") {
    const { content, toolCallId } = message;
    const name = callName(all, toolCallId);
    const id = idOf(toolCallId);
    return { role: "tool", content, tool_call_id: id, ...(name !== undefined && { name }) };
  }
  const { content, name } = message;
  const developer = message.role === "developer" && !source.includes("developer");
  const role = developer ? "system" : message.role;
  const plain = { role, content, ...(name !== undefined && { name }) };
  if (message.role !== "assistant") return plain;
  const said = { ...plain, ...thoughtsField(message, source) };
  if (message.toolCalls === undefined) return said;
  const asText = JOINS_ARGUMENTS.test(source);
  const calls = message.toolCalls.map((call) => ({
    id: idOf(call.id),
    type: "function",
    function: {
      name: call.name,
      arguments: asText ? call.arguments : parseArguments(call.arguments),
    },
  }));
  const isBare = content === "" && MINDS_NO_CONTENT.test(source);
  return { ...said, ...(isBare && { content: null }), tool_calls: calls };
}

/** Arguments that a template adds to texts are to be text themselves (DeepSeek, Functionary). */
const JOINS_ARGUMENTS =
  /\+\s*tool\w*(?:\.function|\[['"]function['"]\])(?:\.arguments|\[['"]arguments['"]\])\s*(?![|\s\w])/;

/** A template that asks for content of none would write an empty answer beside the calls (DeepSeek R1). */
const MINDS_NO_CONTENT = /message(?:\.content|\[['"]content['"]\]) is (?:not )?none/;

/** Earlier thoughts by their name: most follow DeepSeek's API, gpt-oss and LFM2.5 have a word of their own. */
function thoughtsField(
  { reasoning, content, toolCalls }: Extract<ConversationMessage, { role: "assistant" }>,
  source: string,
): Record<string, string> {
  if (reasoning === undefined) return {};
  // gpt-oss' takes what was said before a call for thoughts, and refuses both.
  if (isHarmony(source) && content !== "" && toolCalls !== undefined) return {};
  const isThinking = /message(?:\.thinking|\[['"]thinking)\b/.test(source);
  return isThinking ? { thinking: reasoning } : { reasoning_content: reasoning };
}

/** Mistral's templates refuse ids of another length than 9. */
const WANTS_SHORT_IDS = /\|\s*length\s*\)?\s*(?:!=|<)\s*9\b/;

/** Nine letters or digits: the id itself where it is so, and else the same for the same id. */
function shortId(id: string): string {
  if (/^[a-z0-9]{9}$/i.test(id)) return id;
  return createHash("sha256").update(id).digest("hex").slice(0, 9);
}

function callName(messages: readonly ConversationMessage[], id: string): string | undefined {
  const calls = messages.flatMap((message) =>
    message.role === "assistant" ? (message.toolCalls ?? []) : [],
  );
  return calls.findLast((call) => call.id === id)?.name;
}

function parseArguments(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function toTemplateTool({ name, description, parameters }: FunctionTool) {
  const empty = { type: "object", properties: {} };
  return {
    type: "function",
    function: {
      name,
      // Templates add it to other texts (gpt-oss), which fails on nothing.
      description: description ?? "",
      parameters: parameters ?? empty,
    },
  };
}

/** What a template has a place for. */
interface ToolPlace {
  /** How the model is to write calls: as Hermes does where the template shows none. */
  readonly format: ToolCallFormat;
  readonly knowsTools: boolean;
  /** Whether it writes past calls and their results. */
  readonly knowsCalls: boolean;
  readonly knowsSystem: boolean;
  readonly hasUnknownCalls: boolean;
}

function findPlace(
  source: string,
  addedTokens: readonly AddedToken[],
  knowsSystem: boolean,
): ToolPlace {
  const tokens = addedTokens.map(({ content }) => content);
  const format = detectFormat(source, tokens);
  return {
    format: format ?? "hermes",
    knowsTools: format !== undefined && /\btools\b/.test(source),
    knowsCalls: format !== undefined && source.includes("tool_calls"),
    knowsSystem,
    hasUnknownCalls: format === undefined && /\btool(?:s|_calls)\b/.test(source),
  };
}

/** Tells in words, and as text, what the template has no place for. */
function placeTools(
  messages: readonly ConversationMessage[],
  tools: readonly FunctionTool[],
  place: ToolPlace,
): readonly ConversationMessage[] {
  const { knowsTools, knowsCalls } = place;
  if (tools.length === 0) return messages;
  const told = knowsTools ? messages : describeTools(messages, tools, place);
  return knowsCalls ? told : told.map((message) => toPlainMessage(message, place));
}

/** Describes the tools in words. */
function describeTools(
  messages: readonly ConversationMessage[],
  tools: readonly FunctionTool[],
  { format, knowsSystem }: ToolPlace,
): ConversationMessage[] {
  const list = tools.map((tool) => JSON.stringify(toTemplateTool(tool).function)).join("\n");
  const example = writeCalls(format, [{ name: "NAME", arguments: '{"ARGUMENT": "VALUE"}' }]);
  const words = `You may call these functions:\n${list}\nTo call one, answer with:\n${example}`;
  const [first, ...rest] = messages;
  if (first?.role === "system" || first?.role === "developer")
    return [{ role: "system", content: `${first.content}\n\n${words}` }, ...rest];
  if (knowsSystem) return [{ role: "system", content: words }, ...messages];
  if (first?.role === "user")
    return [{ ...first, content: `${words}\n\n${first.content}` }, ...rest];
  return [{ role: "user", content: words }, ...messages];
}

/** A past call as text; its result as a question, unless the template knows of tools. */
function toPlainMessage(
  message: ConversationMessage,
  { format, knowsTools }: ToolPlace,
): ConversationMessage {
  if (message.role === "tool" && !knowsTools)
    return { role: "user", content: `<tool_response>${message.content}</tool_response>` };
  if (message.role !== "assistant" || message.toolCalls === undefined) return message;
  const { toolCalls, ...said } = message;
  const parts = [message.content, writeCalls(format, toolCalls)];
  return { ...said, content: parts.filter((part) => part !== "").join("\n") };
}

/** A parsed chat template. */
interface ParsedTemplate {
  render(items: Record<string, unknown>): string;
}

/**
 * A template of a model that also sees may read the content of a message as a list of parts alone, and would
 * pass over a text in silence (SmolVLM, Llama Guard 3 1B): it is given such lists.
 */
function parseChatTemplate(source: string): ParsedTemplate {
  const template = parseTemplate(source);
  let wantsParts: boolean | undefined = /['"]type['"]|\.type\b/.test(source) ? undefined : false;
  return {
    render(items) {
      wantsParts ??= readsPartsOnly(template, items);
      return template.render(wantsParts ? withParts(items) : items);
    },
  };
}

const PROBE = "probe";

function readsPartsOnly(template: Template, items: Record<string, unknown>): boolean {
  const probe = { ...items, messages: [{ role: "user", content: PROBE }] };
  const says = (given: Record<string, unknown>) => {
    try {
      return template.render(given).includes(PROBE);
    } catch {
      return false;
    }
  };
  return !says(probe) && says(withParts(probe));
}

function withParts(items: Record<string, unknown>): Record<string, unknown> {
  const messages: readonly unknown[] = Array.isArray(items["messages"]) ? items["messages"] : [];
  return { ...items, messages: messages.map(toParts) };
}

function toParts(message: unknown): unknown {
  if (typeof message !== "object" || message === null) return message;
  if (!("content" in message) || typeof message.content !== "string") return message;
  return { ...message, content: [{ type: "text", text: message.content }] };
}
