import { z } from "zod";

/** A call that the model made, as a later turn gives it back. */
const toolCall = z.object({
  /** `call_` and 24 hexadecimal digits. */
  id: z.string(),
  name: z.string(),
  /** JSON text. */
  arguments: z.string(),
});
export type ToolCall = z.infer<typeof toolCall>;

const message = z.discriminatedUnion("role", [
  z.object({
    role: z.enum(["system", "developer", "user"]),
    content: z.string(),
    name: z.string().exactOptional(),
  }),
  z.object({
    role: z.literal("assistant"),
    content: z.string(),
    /** What it thought before. */
    reasoning: z.string().exactOptional(),
    toolCalls: z.array(toolCall).readonly().exactOptional(),
    name: z.string().exactOptional(),
  }),
  z.object({ role: z.literal("tool"), content: z.string(), toolCallId: z.string() }),
]);
export type ConversationMessage = z.infer<typeof message>;

const jsonSchema = z.record(z.string(), z.unknown()).readonly();

const functionTool = z.object({
  name: z.string(),
  description: z.string().nullable(),
  /** JSON schema of the arguments; null for a function without any. */
  parameters: jsonSchema.nullable(),
  strict: z.boolean(),
});
export type FunctionTool = z.infer<typeof functionTool>;

const toolChoice = z.union([z.enum(["none", "auto", "required"]), z.object({ name: z.string() })]);
export type ToolChoice = z.infer<typeof toolChoice>;

const answerFormat = z.discriminatedUnion("type", [
  z.object({ type: z.literal("text") }),
  z.object({ type: z.literal("json_object") }),
  z.object({
    type: z.literal("json_schema"),
    name: z.string(),
    description: z.string().nullable(),
    schema: jsonSchema,
    strict: z.boolean(),
  }),
]);
export type AnswerFormat = z.infer<typeof answerFormat>;

/** How an answer is drawn, whatever it continues. */
export const samplingRequest = z.object({
  model: z.string(),
  /** Most tokens of one choice; null for what the context leaves. */
  maxTokens: z.int().positive().nullable(),
  /** Choices, 1 to 8. */
  n: z.int().positive(),
  temperature: z.number(),
  topP: z.number(),
  topK: z.int().nonnegative(),
  minP: z.number(),
  frequencyPenalty: z.number(),
  presencePenalty: z.number(),
  /** Above 1 speaks against tokens of prompt and answer; the model's own where absent. */
  repetitionPenalty: z.number().positive().exactOptional(),
  /** Tokens before which no answer ends by itself; 0 where absent. */
  minTokens: z.int().nonnegative().exactOptional(),
  /** Same seed, same model, same request: same text. */
  seed: z.int(),
  stop: z.array(z.string()).readonly(),
  logitBias: z.record(z.string(), z.number()).readonly(),
  /** Likeliest tokens to tell beside each chosen one; null tells no probabilities. */
  logprobs: z.int().nonnegative().nullable(),
  stream: z.boolean(),
});
export type SamplingRequest = z.infer<typeof samplingRequest>;

/** An admitted request of chat or responses, as it is stored and travels on the queue. */
export const generationRequest = samplingRequest.extend({
  messages: z.array(message).readonly(),
  /** Field of the body that they came in; `messages` where absent. */
  promptParam: z.string().exactOptional(),
  tools: z.array(functionTool).readonly(),
  toolChoice,
  parallelToolCalls: z.boolean(),
  format: answerFormat,
  /** Further variables of the chat template, by name; JSON. */
  templateVariables: z.record(z.string(), z.unknown()).readonly().exactOptional(),
  /** Whether the oldest messages are left out where the context is too short. */
  truncate: z.boolean(),
  metadata: z.record(z.string(), z.string()).readonly().nullable(),
});
export type GenerationRequest = z.infer<typeof generationRequest>;

/** JSON has no infinity and writes null: an impossible token's. */
const logprob = z
  .custom<number | null>((value) => value === null || typeof value === "number")
  .meta({ type: ["number", "null"] })
  .transform((value) => value ?? -Infinity);

const tokenLogprob = z.object({
  id: z.int(),
  /** Its text; U+FFFD where it is a part of a character. */
  token: z.string(),
  /** Natural logarithm of its probability, before temperature and selection. */
  logprob,
  /** UTF-8 of the token, a part of a character perhaps. */
  bytes: z.array(z.int()).readonly(),
});

/** Thoughts, text and calls of an answer in the order in which they were written. */
const answerPart = z.discriminatedUnion("type", [
  z.object({ type: z.literal("reasoning"), text: z.string() }),
  z.object({ type: z.literal("text"), text: z.string() }),
  z.object({ type: z.literal("call"), call: toolCall }),
]);
export type AnswerPart = z.infer<typeof answerPart>;

const generationEnd = z.enum(["stop", "length", "tool_calls"]);
export type GenerationEnd = z.infer<typeof generationEnd>;

/** Likeliest first in `top`. */
const logprobs = z.array(tokenLogprob.extend({ top: z.array(tokenLogprob).readonly() })).readonly();

const choice = z.object({
  parts: z.array(answerPart).readonly(),
  finishReason: generationEnd,
  logprobs: logprobs.nullable(),
});
export type GenerationChoice = z.infer<typeof choice>;

/** What the pipeline says of a finished answer. */
export const generationOutput = z.object({
  choices: z.array(choice).readonly(),
  usage: z.object({
    promptTokens: z.int().nonnegative(),
    completionTokens: z.int().nonnegative(),
    /** Tokens of the prompt that were known from earlier ones; absent in older outputs. */
    cachedTokens: z.int().nonnegative().exactOptional(),
    /** Tokens of thoughts among those of the answer; absent in older outputs. */
    reasoningTokens: z.int().nonnegative().exactOptional(),
  }),
});
export type GenerationOutput = z.infer<typeof generationOutput>;

/** One JSON chunk of a streamed answer: what was added to one choice. */
export const generationDelta = z.object({
  choice: z.int().nonnegative(),
  parts: z.array(answerPart).readonly(),
  logprobs: logprobs.exactOptional(),
  /** With the last delta of a choice. */
  finishReason: generationEnd.exactOptional(),
});
export type GenerationDelta = z.infer<typeof generationDelta>;
