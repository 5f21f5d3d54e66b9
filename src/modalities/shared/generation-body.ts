import { randomInt } from "node:crypto";
import { z } from "zod";
import { contextExceeded } from "../../core/errors.js";
import type { ModelInfo } from "../../core/modality.js";
import type { Units } from "../../core/usage.js";
import type {
  AnswerFormat,
  ConversationMessage,
  FunctionTool,
  GenerationOutput,
  GenerationRequest,
  SamplingRequest,
  ToolChoice,
} from "../../models/decoder/request/generation-request.js";
import {
  atMost,
  describe,
  invalidValue,
  metadataField,
  MOST_CHARACTERS_PER_TOKEN,
} from "./request-body.js";

/** Fields and rules that the bodies of chat and responses share. */

const MAX_TOOLS = 128;
/** Messages, or items, of one request. */
export const MAX_MESSAGES = 2_048;
/** Words of a list of options. */
export const MAX_WORDS = 16;
const MAX_SEED = 2 ** 47;
/** Where a package does not say how long its context is. */
const DEFAULT_CONTEXT_TOKENS = 4_096;

/** A number within bounds, or null for the default. */
export function boundedNumber(minimum: number, maximum: number) {
  const error = (issue: { readonly input?: unknown }) =>
    `must be a number from ${minimum} to ${maximum}`.concat(
      typeof issue.input === "number" ? "" : " or null",
    );
  return z.number({ error }).min(minimum, { error }).max(maximum, { error }).nullish();
}

/** A whole number within bounds, or null for the default. */
export function boundedInteger(minimum: number, maximum: number) {
  const error = `must be a whole number from ${minimum} to ${maximum}`;
  return z.int({ error }).min(minimum, { error }).max(maximum, { error }).nullish();
}

const hint = z.unknown().optional();

export const flag = z.boolean({ error: "must be true or false" }).nullish();

/** How tokens are drawn, wherever text is written. */
export const samplingFields = {
  model: z.string().min(1),
  temperature: boundedNumber(0, 2),
  top_p: boundedNumber(0, 1),
  top_k: boundedInteger(-1, 1_000_000).describe(
    "Keeps this many of the likeliest tokens; 0 keeps all",
  ),
  min_p: boundedNumber(0, 1).describe("Keeps tokens this many times as likely as the likeliest"),
  stream: flag,
  user: z.string().nullish(),
};

/** Of an answer: longer than any context, which ends it all the same. */
export const MOST_TOKENS = 1_000_000;

/** What benchmarks ask for, so that all answers take as long. */
export const lengthFields = {
  min_tokens: boundedInteger(0, MOST_TOKENS).describe(
    "Tokens before which no answer ends by itself",
  ),
  ignore_eos: flag.describe("Whether every answer is as long as it may be"),
};

/** The fewest tokens of an answer, where any are asked for. */
export function lengthOf({
  ignore_eos: isWhole,
  min_tokens: least,
}: {
  readonly ignore_eos?: boolean | null | undefined;
  readonly min_tokens?: number | null | undefined;
}): { readonly minTokens?: number } {
  const minTokens = isWhole ? MOST_TOKENS : (least ?? 0);
  return minTokens > 0 ? { minTokens } : {};
}

/** As the OpenAI API has it; what a word means is the model's own. */
export const reasoningEffort = z.enum(
  ["none", "minimal", "low", "medium", "high", "xhigh", "max"],
  { error: "must be none, minimal, low, medium, high, xhigh or max" },
);

const MAX_VARIABLES = 16;
const MAX_VARIABLES_LENGTH = 4_096;

/** What a chat template finds under these names is the service's. */
const OWN_VARIABLES = new Set(
  [
    ["messages", "tools", "add_generation_prompt", "continue_final_message"],
    ["bos_token", "eos_token", "unk_token", "pad_token"],
    ["raise_exception", "strftime_now", "range", "namespace", "loop"],
    ["true", "false", "none", "True", "False", "None"],
  ].flat(),
);

const variablesField = atMost(
  MAX_VARIABLES,
  "variables",
  z.record(
    z.string().regex(/^[a-z][a-z0-9_]{0,63}$/i, "must be names of letters, digits and underscores"),
    z.unknown(),
    { error: "must be an object" },
  ),
).superRefine((variables, context) => {
  const own = Object.keys(variables).find((name) => OWN_VARIABLES.has(name));
  if (own !== undefined)
    context.addIssue({ code: "custom", message: "is the service's own", path: [own] });
  const { length } = JSON.stringify(variables);
  if (length > MAX_VARIABLES_LENGTH)
    context.addIssue(`must have at most ${MAX_VARIABLES_LENGTH} characters of JSON, got ${length}`);
});

/** What both endpoints accept in the same words. */
export const sharedFields = {
  ...samplingFields,
  top_logprobs: boundedInteger(0, 20),
  store: flag,
  parallel_tool_calls: flag,
  metadata: metadataField.nullish(),
  chat_template_kwargs: variablesField
    .nullish()
    .describe("Variables of the model's chat template, by name"),
  enable_thinking: flag.describe("Whether the model thinks first, where its template lets choose"),
  safety_identifier: z.string().nullish(),
  prompt_cache_key: hint,
  prompt_cache_retention: hint,
};

const functionName = z
  .string()
  .regex(/^[\w-]{1,64}$/, "must be 1 to 64 letters, digits, underscores or hyphens");

export const jsonSchema = z.record(z.string(), z.unknown(), {
  error: "must be a JSON schema object",
});

/** The fields of a function that a tool describes. */
export const functionFields = {
  name: functionName,
  description: z.string().nullish(),
  parameters: jsonSchema.nullish(),
  strict: z.boolean().nullish(),
};

export const toolType = z.literal("function", {
  error: "must be function: other tools are not offered",
});

/** A list of tools, each of this shape. */
export function toolList<Tool extends z.ZodType>(tool: Tool) {
  const list = z.array(tool, { error: "must be an array of tools" }).max(MAX_TOOLS);
  return atMost(MAX_TOOLS, "tools", list).nullish();
}

export const toolChoiceWord = z.enum(["none", "auto", "required"]);

/** The fields of a response format that asks for a schema. */
export const schemaFormatFields = {
  name: functionName,
  description: z.string().nullish(),
  strict: z.boolean().nullish(),
};

interface FunctionBody {
  readonly name: string;
  readonly description?: string | null | undefined;
  readonly parameters?: Record<string, unknown> | null | undefined;
  readonly strict?: boolean | null | undefined;
}

export function toFunctionTool(body: FunctionBody): FunctionTool {
  return {
    name: body.name,
    description: body.description ?? null,
    parameters: body.parameters ?? null,
    strict: body.strict ?? false,
  };
}

/** Refuses a choice that the tools do not have, and two tools of one name. */
export function checkTools(tools: readonly FunctionTool[], choice: ToolChoice): void {
  const names = new Set(tools.map(({ name }) => name));
  if (names.size < tools.length) {
    throw invalidValue("tools", "tools must have different names");
  }
  const missing = typeof choice === "object" && !names.has(choice.name);
  if (missing || (choice === "required" && tools.length === 0)) {
    const named = typeof choice === "object" ? choice.name : choice;
    const message = `tool_choice ${describe(named)} needs a function of tools, which has ${tools.length}`;
    throw invalidValue("tool_choice", message);
  }
}

/**
 * Refuses schemas that no answer could be held to: the answer's own, and those of functions that are
 * strict or whose call is forced. What is not strict may say more than is held to.
 */
export async function checkSchemas(
  { format, tools, toolChoice }: Pick<GenerationRequest, "format" | "tools" | "toolChoice">,
  formatParam: string,
): Promise<void> {
  const isForced = toolChoice === "required" || typeof toolChoice === "object";
  const answers = format.type === "json_schema" ? [format] : [];
  const held = toolChoice === "none" ? [] : tools.filter(({ strict }) => isForced || strict);
  if (answers.length + held.length === 0) return;
  const { checkSchemas: check } = await import("../../models/decoder/grammar/index.js");
  await check([
    ...answers.map(({ schema, strict: isStrict }) => ({ schema, param: formatParam, isStrict })),
    ...held.map(({ parameters, strict: isStrict }) => {
      return { schema: parameters ?? {}, param: "tools", isStrict };
    }),
  ]);
}

/** Refuses by its characters what cannot fit the model, before anything counts its tokens. */
export function checkPromptLength(
  { messages, truncate }: Pick<GenerationRequest, "messages" | "truncate">,
  { contextTokens }: ModelInfo,
  param: string,
): void {
  if (contextTokens === undefined || truncate) return;
  const characters = messages.reduce((sum, message) => sum + charactersOf(message), 0);
  if (characters <= contextTokens * MOST_CHARACTERS_PER_TOKEN) return;
  const excess = `the messages have ${characters} characters, more than so many tokens can hold`;
  throw contextExceeded(contextTokens, excess, param);
}

function charactersOf(message: ConversationMessage): number {
  const calls = message.role === "assistant" ? (message.toolCalls ?? []) : [];
  return calls.reduce((sum, call) => sum + call.arguments.length, message.content.length);
}

/** The format with its schema; without one, any object of JSON. */
export function toSchemaFormat(body: {
  readonly name: string;
  readonly description?: string | null | undefined;
  readonly schema?: Record<string, unknown> | undefined;
  readonly strict?: boolean | null | undefined;
}): AnswerFormat {
  return {
    type: "json_schema",
    name: body.name,
    description: body.description ?? null,
    schema: body.schema ?? { type: "object" },
    strict: body.strict ?? false,
  };
}

interface SamplingBody {
  readonly model: string;
  readonly temperature?: number | null | undefined;
  readonly top_p?: number | null | undefined;
  readonly top_k?: number | null | undefined;
  readonly min_p?: number | null | undefined;
  readonly stream?: boolean | null | undefined;
}

interface SharedBody extends SamplingBody {
  readonly parallel_tool_calls?: boolean | null | undefined;
  readonly metadata?: Record<string, string> | null | undefined;
  readonly chat_template_kwargs?: Record<string, unknown> | null | undefined;
  readonly enable_thinking?: boolean | null | undefined;
}

/** How tokens are drawn. The defaults are those of the OpenAI API. */
export function samplingOf(body: SamplingBody, seed?: number | null) {
  return {
    model: body.model,
    temperature: body.temperature ?? 1,
    topP: body.top_p ?? 1,
    topK: Math.max(0, body.top_k ?? 0),
    minP: body.min_p ?? 0,
    // Drawn here and not by the worker: a second attempt must write the same text.
    seed: seed ?? randomInt(MAX_SEED),
    stream: body.stream ?? false,
  } as const;
}

export type ReasoningEffort = z.infer<typeof reasoningEffort>;

interface SharedOptions {
  readonly seed?: number | null | undefined;
  readonly effort: ReasoningEffort | null | undefined;
}

/** The parts of a request that both bodies say alike. */
export function sharedRequest(body: SharedBody, { seed, effort }: SharedOptions) {
  const variables = templateVariablesOf(body, effort);
  return {
    ...samplingOf(body, seed),
    parallelToolCalls: body.parallel_tool_calls ?? true,
    metadata: body.metadata ?? null,
    ...(Object.keys(variables).length > 0 && { templateVariables: variables }),
  } as const;
}

/**
 * Templates know an effort (gpt-oss), `enable_thinking` (Qwen3, SmolLM3) or `thinking` (Granite): what is
 * asked for in one word is said in all. The caller's own variables win.
 */
function templateVariablesOf(
  { chat_template_kwargs: variables, enable_thinking: isAsked }: SharedBody,
  effort: ReasoningEffort | null | undefined,
): Record<string, unknown> {
  const byEffort = effort && effort !== "none" && effort !== "minimal";
  const thinking = isAsked ?? byEffort;
  return {
    ...(effort && { reasoning_effort: effort }),
    ...(typeof thinking === "boolean" && { enable_thinking: thinking, thinking }),
    ...variables,
  };
}

/** Most tokens that a request can take: the whole context in for each prompt, and its limit out for each choice. */
export function mostTokens(
  request: Pick<SamplingRequest, "maxTokens" | "n">,
  model: ModelInfo,
  prompts = 1,
): Units {
  const context = model.contextTokens ?? DEFAULT_CONTEXT_TOKENS;
  const answer = Math.min(request.maxTokens ?? context, context);
  return { inputTokens: prompts * context, outputTokens: prompts * request.n * answer };
}

export function countTokens(_request: SamplingRequest, { usage }: GenerationOutput): Units {
  return { inputTokens: usage.promptTokens, outputTokens: usage.completionTokens };
}

/** What the caller gives the model to read, results of tools included, for moderation. */
export function promptTexts({ messages, templateVariables = {} }: GenerationRequest): string[] {
  const said = messages.filter(({ role }) => role !== "assistant").map(({ content }) => content);
  const given = textsIn(templateVariables).filter(
    (text) => !reasoningEffort.safeParse(text).success,
  );
  return [...said, ...given].filter((text) => text !== "");
}

function textsIn(value: unknown): string[] {
  if (typeof value === "string") return [value];
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(textsIn) : [];
}
