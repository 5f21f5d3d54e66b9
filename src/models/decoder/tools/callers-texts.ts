import { createTokenBreaker, findMark, type TokenBreaker } from "../../tokenizer/break-tokens.js";
import type { AddedToken } from "../../tokenizer/text-tokenizer.js";
import type { ConversationMessage, FunctionTool, ToolCall } from "../request/generation-request.js";

/** A conversation whose texts can write nothing but text, whatever a template makes of them. */
export interface CallersTexts {
  readonly messages: readonly ConversationMessage[];
  readonly tools: readonly FunctionTool[];
  readonly variables: Readonly<Record<string, unknown>>;
  /** Breaks up what would read as a token; no part of any text. */
  readonly mark: string;
}

type MarkTexts = (
  messages: readonly ConversationMessage[],
  tools: readonly FunctionTool[],
  variables?: Readonly<Record<string, unknown>>,
) => CallersTexts;

/**
 * Marks what in callers' texts reads like a special token, or like another token that the model's template
 * or its calls write. An answer of the model's own may keep the latter: templates look for thoughts in it.
 */
export function createTextMarker(
  addedTokens: readonly AddedToken[],
  { template, callMarkers }: { readonly template: string; readonly callMarkers: readonly string[] },
): MarkTexts {
  const isMarker = ({ content, special }: AddedToken) => special || callMarkers.includes(content);
  const markers = addedTokens.filter(isMarker);
  const structure = addedTokens.filter(
    (token) => isMarker(token) || (/\S/.test(token.content) && template.includes(token.content)),
  );
  const inAnswers = createTokenBreaker(markers.map(({ content }) => content));
  const elsewhere = createTokenBreaker(structure.map(({ content }) => content));
  return (messages, tools, variables = {}) => {
    const mark = findMark(JSON.stringify([messages, tools, variables]));
    const markText = (text: string) => elsewhere(text, mark);
    return {
      mark,
      variables: Object.fromEntries(
        Object.entries(variables).map(([name, value]) => [name, markValue(value, markText)]),
      ),
      messages: messages.map((message) => markMessage(message, { mark, inAnswers, elsewhere })),
      tools: tools.map((tool) => ({
        ...tool,
        description: tool.description === null ? null : markText(tool.description),
        parameters: tool.parameters === null ? null : markFields(tool.parameters, markText),
      })),
    };
  };
}

interface Marking {
  readonly mark: string;
  readonly inAnswers: TokenBreaker;
  readonly elsewhere: TokenBreaker;
}

function markMessage(
  message: ConversationMessage,
  { mark, inAnswers, elsewhere }: Marking,
): ConversationMessage {
  const markText = (text: string) => elsewhere(text, mark);
  if (message.role === "tool")
    return {
      ...message,
      content: markText(message.content),
      toolCallId: markText(message.toolCallId),
    };
  const name = message.name === undefined ? {} : { name: markText(message.name) };
  if (message.role !== "assistant")
    return { ...message, ...name, content: markText(message.content) };
  const calls = message.toolCalls?.map((call) => markCall(call, markText));
  const content = inAnswers(message.content, mark);
  const { reasoning } = message;
  const thoughts = reasoning === undefined ? {} : { reasoning: markText(reasoning) };
  return {
    ...message,
    ...name,
    ...thoughts,
    content,
    ...(calls !== undefined && { toolCalls: calls }),
  };
}

/** Arguments are JSON, in which a token may be written by escapes. */
function markCall(call: ToolCall, markText: (text: string) => string): ToolCall {
  return { ...call, id: markText(call.id), arguments: markJson(call.arguments, markText) };
}

function markJson(json: string, markText: (text: string) => string): string {
  try {
    const value: unknown = JSON.parse(json);
    const marked = JSON.stringify(markValue(value, markText));
    return marked === JSON.stringify(value) ? json : marked;
  } catch {
    return markText(json);
  }
}

function markValue(value: unknown, markText: (text: string) => string): unknown {
  if (typeof value === "string") return markText(value);
  if (Array.isArray(value)) return value.map((item) => markValue(item, markText));
  return typeof value === "object" && value !== null ? markFields(value, markText) : value;
}

function markFields(fields: object, markText: (text: string) => string): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(fields).map(([name, value]) => [markText(name), markValue(value, markText)]),
  );
}
