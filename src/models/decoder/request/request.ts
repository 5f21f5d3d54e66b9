import type { JobError } from "../../../core/errors.js";
import type { AddedToken } from "../../tokenizer/text-tokenizer.js";

/** What to write and how to choose its tokens. */
export interface TextJob {
  /** Ready prompt ids, in place of `prompt`. */
  readonly promptTokens?: readonly number[];
  readonly prompt: string;
  /** Field of the caller's body that the prompt is made of; `messages` where absent. */
  readonly promptParam?: string;
  /** Whether the tokenizer adds its own, e.g. `<s>`; false for a chat template that writes them. */
  readonly addSpecialTokens: boolean;
  /** Breaks up in the prompt what only reads like a token of structure; without it all is text. */
  readonly mark?: string;
  /** Most tokens of one choice; null for what the context leaves. */
  readonly maxTokens: number | null;
  /** Choices from one prompt, 1 or more. */
  readonly n: number;
  /** 0 takes the likeliest token. */
  readonly temperature: number;
  /** Keeps the likeliest tokens that together have this probability, (0, 1]. */
  readonly topP: number;
  /** Keeps this many of the likeliest tokens; 0 keeps all. */
  readonly topK: number;
  /** Keeps tokens at least this many times as likely as the likeliest, [0, 1]. */
  readonly minP: number;
  /** Taken off a token's logit for each time, and once where it, stands in the answer, −2 to 2. */
  readonly frequencyPenalty: number;
  readonly presencePenalty: number;
  /** Divides what speaks for a token of prompt or answer; the model's own where absent. */
  readonly repetitionPenalty?: number | undefined;
  /** Tokens before which no choice ends by itself; a masked one ends when it is whole. */
  readonly minTokens?: number | undefined;
  /** Choice `i` draws from stream `i` of the seed; null draws a seed. */
  readonly seed: number | null;
  /** Texts that end the answer and are not part of it. */
  readonly stop: readonly string[];
  /** Token id → what is added to its logit, −100 to 100. */
  readonly logitBias: Readonly<Record<string, number>>;
  /** Likeliest tokens to tell beside each chosen one, 0 to 20; null tells no probabilities. */
  readonly logprobs: number | null;
  readonly mask: MaskSpec | null;
  /** How thoughts stand before the answer; all is answer where absent. */
  readonly thinking?: ThinkingSpec | undefined;
  /** Special tokens to write out: all, or these, e.g. those that enclose a tool call. */
  readonly keepSpecialTokens?: boolean | readonly string[];
  /** Whose earlier prompts may serve this one, and later ones it; a prompt without is read alone. */
  readonly cacheScope?: string | undefined;
}

/** Thoughts that a model writes before its answer: between markers, or in a channel of Harmony. */
export type ThinkingSpec = MarkedThinking | { readonly form: "harmony" };

export interface MarkedThinking {
  readonly form: "markers";
  readonly begin: string;
  readonly end: string;
  /** Whether the prompt has their beginning already; where not, the model may begin them or not. */
  readonly isBegun: boolean;
}

export interface TokenLogprob {
  readonly id: number;
  /** Its text; U+FFFD where it is a part of a character. */
  readonly token: string;
  /** Natural logarithm of its probability, before temperature and selection. */
  readonly logprob: number;
  /** UTF-8 of the token, a part of a character perhaps. */
  readonly bytes: readonly number[];
}

export interface ChosenLogprob extends TokenLogprob {
  /** Likeliest first. */
  readonly top: readonly TokenLogprob[];
}

export type FinishReason = "stop" | "length";

export interface TextUsage {
  readonly promptTokens: number;
  /** Tokens of all choices, stop tokens included. */
  readonly completionTokens: number;
  /** Tokens of the prompt that were not read again: earlier ones began alike. */
  readonly cachedTokens: number;
  /** Tokens of thoughts among those of all choices, their markers included. */
  readonly reasoningTokens: number;
}

export type TextEvent =
  | {
      readonly type: "text";
      readonly choice: number;
      /** What became certain in this step; may be empty while a character or a stop text is pending. */
      readonly text: string;
      /** Thoughts that became certain in this step. */
      readonly reasoning?: string;
      readonly tokenIds: readonly number[];
      /** Tokens of the choice so far, those included whose text still waits. */
      readonly tokenCount: number;
      readonly promptTokenCount: number;
      readonly logprobs?: readonly ChosenLogprob[];
      /** With the last event of a choice. */
      readonly finishReason?: FinishReason;
      /** The stop text that ended it. */
      readonly stopText?: string;
    }
  | { readonly type: "end"; readonly usage: TextUsage };

/** What a step made of one request. */
export type StepItem =
  | { readonly id: number; readonly events: readonly TextEvent[] }
  | { readonly id: number; readonly failure: JobError };

/**
 * On which side a row that is shorter than the batch has its tokens. `end`: rows end together and the
 * attention mask hides what stands before. `start`: rows start together, as graphs want that count the
 * mask's ones (GroupQueryAttention). `equal`: the graph hides nothing, so rows must be of one length.
 */
export type Alignment = "end" | "start" | "equal";

export interface TextModelInfo {
  readonly vocabSize: number;
  readonly contextTokens: number;
  /** How rows of different lengths share a run, as the graph was found to take them. */
  readonly alignment: Alignment;
  /** Whether each token is written into the memory of those before it, as grouped attention does. */
  readonly sharesBuffers: boolean;
  readonly addedTokens: readonly AddedToken[];
}

/** What a constrained answer must be, behind thoughts perhaps. */
export type MaskSpec =
  | AnswerMask
  | {
      readonly kind: "after-thinking";
      readonly thinking: ThinkingSpec;
      readonly answer: AnswerMask;
    };

export type AnswerMask =
  | AnswerSpec
  | {
      readonly kind: "tool-calls";
      readonly calls: ToolCallSpec;
      /** What the answer may be instead, text amid which calls may stand or one of JSON; calls alone if absent. */
      readonly otherwise?: "text" | AnswerSpec;
    };

/** Keywords of a schema that no grammar can hold to are left to the caller. */
export type AnswerSpec =
  | { readonly kind: "json-object" }
  | { readonly kind: "json-schema"; readonly schema: unknown };

/** Follows one answer and says which tokens may come next. */
export interface TokenMask {
  /**
   * Bit `id % 32` of word `id / 32` is set where the token `id` may come next; null allows all. Valid
   * until the next call of `accept`.
   */
  allowed(): Int32Array | Uint32Array | null;
  /** Tells which token was chosen; throws where it was not allowed. */
  accept(tokenId: number): void;
  /** The answer is whole and nothing but a stop token may follow. */
  readonly isComplete: boolean;
}

export type MaskFactory = (spec: MaskSpec) => TokenMask;

/** How a model writes its calls: by its template's own markers. */
export type ToolCallFormat =
  | "hermes"
  | "harmony"
  | "mistral"
  | "mistral-args"
  | "llama"
  | "phi"
  | "granite"
  | "apriel"
  | "functionary"
  | "command"
  | "command-r"
  | "deepseek-r1"
  | "deepseek-v3.1"
  | "kimi"
  | "qwen-coder"
  | "seed"
  | "glm"
  | "lfm"
  | "gemma";

/** A function that may be called, with the JSON schema of its arguments. */
export interface CallableFunction {
  readonly name: string;
  readonly parameters: unknown;
  /** Whether a schema that cannot be held to ends the answer; else any object is allowed in its place. */
  readonly isStrict: boolean;
}

/** Calls that an answer may be of. */
export interface ToolCallSpec {
  readonly format: ToolCallFormat;
  readonly functions: readonly CallableFunction[];
  /** Whether more than one call may follow another. */
  readonly parallel: boolean;
}
