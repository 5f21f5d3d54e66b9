import { z } from "zod";
import { JobError } from "../../core/errors.js";
import type { AdmitContext, Earlier } from "../../core/modality.js";
import {
  type AnswerPart,
  type ConversationMessage,
  generationOutput,
  generationRequest,
  type ToolCall,
} from "../../models/decoder/request/generation-request.js";
import { textOfParts } from "../shared/completion-answer.js";
import { functionFields } from "../shared/generation-body.js";
import { atMost, invalidValue, textContent, textOf } from "../shared/request-body.js";

const status = z.string().nullish();
const messageFields = {
  id: z.string().nullish(),
  role: z.enum(["user", "assistant", "system", "developer"]),
  content: textContent,
  status,
  phase: z.unknown().optional(),
};

/** Of one item of reasoning. */
const MAX_THOUGHTS = 128;

const reasoningContent = atMost(
  MAX_THOUGHTS,
  "parts",
  z.array(z.object({ type: z.literal("reasoning_text"), text: z.string() })).max(MAX_THOUGHTS),
);

/**
 * An item of the input: a message, a call of a function or its result, thoughts before those, or one of
 * them by the id that it has in a stored response.
 */
export const inputItem = z.discriminatedUnion(
  "type",
  [
    z.object({ type: z.literal("message").optional(), ...messageFields }),
    z.object({ type: z.literal("item_reference"), id: z.string().min(1).max(128) }),
    z.object({
      type: z.literal("function_call"),
      id: z.string().nullish(),
      call_id: z.string().min(1).max(128),
      name: functionFields.name,
      arguments: z.string(),
      status,
    }),
    z.object({
      type: z.literal("function_call_output"),
      id: z.string().nullish(),
      call_id: z.string().min(1),
      output: textContent,
      status,
    }),
    z.object({ type: z.literal("reasoning"), content: reasoningContent.nullish() }),
  ],
  {
    error: "must be message, function_call, function_call_output, item_reference or reasoning",
  },
);

type InputItem = z.infer<typeof inputItem>;
type WrittenItem = Exclude<InputItem, { readonly type: "item_reference" }>;

/** The input with what stored responses wrote in the place of its ids. */
export async function resolveReferences(
  input: string | readonly InputItem[],
  context: Pick<AdmitContext, "findEarlier">,
): Promise<string | readonly WrittenItem[]> {
  if (typeof input === "string") return input;
  const stored = new Map<string, Earlier | undefined>();
  const find = async (id: string): Promise<AnswerPart | undefined> => {
    const { responseId, place } = placeOfItem(id) ?? { responseId: undefined, place: 0 };
    if (responseId === undefined) return undefined;
    if (!stored.has(responseId)) stored.set(responseId, await context.findEarlier(responseId));
    const earlier = stored.get(responseId);
    return earlier && generationOutput.parse(earlier.output).choices[0]?.parts[place];
  };
  const written: WrittenItem[] = [];
  for (const [index, item] of input.entries()) {
    if (item.type !== "item_reference") written.push(item);
    else written.push(toItem(await find(item.id), item.id, `input.${index}.id`));
  }
  return written;
}

/** Messages, what belongs to the calls of functions, and reasoning. */
export type ItemKind = "msg" | "fc" | "rs";

/** The id of an output item: it says where the item is, so that a later input can refer to it. */
export function outputItemId(kind: ItemKind, responseId: string, place: number): string {
  return `${kind}_${responseId.replace(/^resp_/, "")}${place}`;
}

/** The id of an input item; no later input refers to it. */
export function inputItemId(kind: ItemKind, responseId: string, place: number): string {
  return `${kind}_${responseId.replace(/^resp_/, "")}in${place}`;
}

/** Where an output item is, by its id; undefined for an id that none has. */
function placeOfItem(itemId: string): { responseId: string; place: number } | undefined {
  const [, key, place] = /^(?:msg|fc|rs)_([0-9a-f]{32})(\d{1,6})$/.exec(itemId) ?? [];
  return key === undefined ? undefined : { responseId: `resp_${key}`, place: Number(place) };
}

function toItem(part: AnswerPart | undefined, id: string, param: string): WrittenItem {
  if (part === undefined) {
    const message = `no stored response has the item ${JSON.stringify(id)}`;
    throw new JobError("not_found", message, { param });
  }
  if (part.type === "text") return { type: "message", role: "assistant", content: part.text };
  if (part.type === "reasoning")
    return { type: "reasoning", content: [{ type: "reasoning_text", text: part.text }] };
  const { call } = part;
  return { type: "function_call", call_id: call.id, name: call.name, arguments: call.arguments };
}

/** What was said up to the end of an earlier response, without its instructions. */
export async function findConversation(
  id: string,
  { findEarlier }: Pick<AdmitContext, "findEarlier">,
): Promise<ConversationMessage[]> {
  const earlier = await findEarlier(id);
  if (earlier !== undefined) return conversationOf(earlier);
  const message = `no completed response has the id ${JSON.stringify(id.slice(0, 80))}`;
  throw new JobError("response_not_found", message, { param: "previous_response_id" });
}

const earlierRequest = generationRequest
  .pick({ messages: true })
  .extend({ instructions: z.string().nullable() });

function conversationOf(earlier: Earlier): ConversationMessage[] {
  const request = earlierRequest.parse(earlier.request);
  const output = generationOutput.parse(earlier.output);
  const said = request.instructions === null ? request.messages : request.messages.slice(1);
  const parts = output.choices[0]?.parts ?? [];
  const reasoning = textOfParts(parts, "reasoning");
  const content = textOfParts(parts);
  const calls = parts.flatMap((part) => (part.type === "call" ? [part.call] : []));
  const thoughts = reasoning === "" ? {} : { reasoning };
  return [...said, { ...toAssistant(content, calls), ...thoughts }];
}

/** The messages with those of the input behind them. Throws where a result has no call. */
export function continueConversation(
  earlier: readonly ConversationMessage[],
  input: string | readonly WrittenItem[],
): ConversationMessage[] {
  if (typeof input === "string") return [...earlier, { role: "user", content: input }];
  const messages = [...earlier];
  for (const [index, item] of input.entries()) addItem(messages, item, index);
  return messages;
}

function addItem(messages: ConversationMessage[], item: WrittenItem, index: number): void {
  if (item.type === "reasoning") addThoughts(messages, item);
  else if (item.type === "function_call") {
    addCall(messages, { id: item.call_id, name: item.name, arguments: item.arguments });
  } else if (item.type === "function_call_output") {
    checkCall(messages, item.call_id, `input.${index}.call_id`);
    messages.push({ role: "tool", content: textOf(item.output), toolCallId: item.call_id });
  } else addMessage(messages, item.role, textOf(item.content));
}

type AssistantMessage = Extract<ConversationMessage, { role: "assistant" }>;

/** Thoughts belong to the assistant's message, or call, that follows them. */
function addThoughts(
  messages: ConversationMessage[],
  { content }: Extract<WrittenItem, { type: "reasoning" }>,
): void {
  const reasoning = content?.map(({ text }) => text).join("\n") ?? "";
  if (reasoning !== "") messages.push({ role: "assistant", content: "", reasoning });
}

function addMessage(
  messages: ConversationMessage[],
  role: Exclude<ConversationMessage["role"], "tool">,
  content: string,
): void {
  const last = messages.at(-1);
  const isThought =
    last?.role === "assistant" && last.content === "" && last.reasoning && !last.toolCalls;
  if (role === "assistant" && isThought) messages[messages.length - 1] = { ...last, content };
  else messages.push({ role, content });
}

/** Calls belong to the assistant's message that they follow. */
function addCall(messages: ConversationMessage[], call: ToolCall): void {
  const last = messages.at(-1);
  if (last?.role !== "assistant") {
    messages.push(toAssistant("", [call]));
    return;
  }
  messages[messages.length - 1] = { ...last, toolCalls: [...(last.toolCalls ?? []), call] };
}

function toAssistant(content: string, calls: readonly ToolCall[]): AssistantMessage {
  return { role: "assistant", content, ...(calls.length > 0 && { toolCalls: calls }) };
}

function checkCall(messages: readonly ConversationMessage[], id: string, param: string): void {
  const isKnown = messages.some(
    (message) => message.role === "assistant" && message.toolCalls?.some((call) => call.id === id),
  );
  if (isKnown) return;
  throw invalidValue(param, `${param} must be the id of an earlier function call`);
}
