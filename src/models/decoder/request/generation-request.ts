import type { ChosenLogprob } from "./request.js";

/** A call that the model made, as a later turn gives it back. */
export interface ToolCall {
  /** `call_` and 24 hexadecimal digits. */
  readonly id: string;
  readonly name: string;
  /** JSON text. */
  readonly arguments: string;
}

export type ConversationMessage =
  | {
      readonly role: "system" | "developer" | "user";
      readonly content: string;
      readonly name?: string;
    }
  | {
      readonly role: "assistant";
      readonly content: string;
      readonly toolCalls?: readonly ToolCall[];
      readonly name?: string;
    }
  | { readonly role: "tool"; readonly content: string; readonly toolCallId: string };

export interface FunctionTool {
  readonly name: string;
  readonly description: string | null;
  /** JSON schema of the arguments; null for a function without any. */
  readonly parameters: Readonly<Record<string, unknown>> | null;
  readonly strict: boolean;
}

export type ToolChoice = "none" | "auto" | "required" | { readonly name: string };

export type AnswerFormat =
  | { readonly type: "text" }
  | { readonly type: "json_object" }
  | {
      readonly type: "json_schema";
      readonly name: string;
      readonly description: string | null;
      readonly schema: Readonly<Record<string, unknown>>;
      readonly strict: boolean;
    };

/** An admitted request of chat or responses, as it is stored and travels on the queue. */
export interface GenerationRequest {
  readonly model: string;
  readonly messages: readonly ConversationMessage[];
  readonly tools: readonly FunctionTool[];
  readonly toolChoice: ToolChoice;
  readonly parallelToolCalls: boolean;
  readonly format: AnswerFormat;
  /** Most tokens of one choice; null for what the context leaves. */
  readonly maxTokens: number | null;
  /** Choices, 1 to 8. */
  readonly n: number;
  readonly temperature: number;
  readonly topP: number;
  readonly topK: number;
  readonly minP: number;
  readonly frequencyPenalty: number;
  readonly presencePenalty: number;
  /** Same seed, same model, same request: same text. */
  readonly seed: number;
  readonly stop: readonly string[];
  readonly logitBias: Readonly<Record<string, number>>;
  /** Likeliest tokens to tell beside each chosen one; null tells no probabilities. */
  readonly logprobs: number | null;
  /** Whether the oldest messages are left out where the context is too short. */
  readonly truncate: boolean;
  readonly stream: boolean;
  readonly metadata: Readonly<Record<string, string>> | null;
}

/** Text and calls of an answer in the order in which they were written. */
export type AnswerPart =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "call"; readonly call: ToolCall };

export type GenerationEnd = "stop" | "length" | "tool_calls";

export interface GenerationChoice {
  readonly parts: readonly AnswerPart[];
  readonly finishReason: GenerationEnd;
  readonly logprobs: readonly ChosenLogprob[] | null;
}

/** What the pipeline says of a finished answer. */
export interface GenerationOutput {
  readonly choices: readonly GenerationChoice[];
  readonly usage: {
    readonly promptTokens: number;
    readonly completionTokens: number;
    /** Tokens of the prompt that were known from earlier ones; absent in older outputs. */
    readonly cachedTokens?: number;
  };
}

/** One JSON chunk of a streamed answer: what was added to one choice. */
export interface GenerationDelta {
  readonly choice: number;
  readonly parts: readonly AnswerPart[];
  readonly logprobs?: readonly ChosenLogprob[];
  /** With the last delta of a choice. */
  readonly finishReason?: GenerationEnd;
}
