import type {
  ConversationMessage,
  FunctionTool,
} from "#framemill/models/decoder/request/generation-request.js";

export const WEATHER: FunctionTool = {
  name: "weather",
  description: "Tells the weather",
  parameters: { type: "object", properties: { city: { type: "string" } } },
  strict: false,
};

export const HELLO: readonly ConversationMessage[] = [{ role: "user", content: "Hello" }];

/** A conversation in which the weather was asked for, and told. */
export const WITH_CALL: readonly ConversationMessage[] = [
  { role: "system", content: "Be brief." },
  { role: "user", content: "Weather?" },
  {
    role: "assistant",
    content: "",
    toolCalls: [{ id: "call_1", name: "weather", arguments: '{"city":"Rome"}' }],
  },
  { role: "tool", content: "sunny", toolCallId: "call_1" },
];
