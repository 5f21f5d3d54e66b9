import { randomBytes } from "node:crypto";
import { JobError, toJobError } from "../../core/errors.js";
import type { PipelineEvent } from "../../core/events.js";
import type { Pipeline, PipelineSetup } from "../../core/modality.js";
import { type ChatTemplate, openChatTemplate } from "../../models/decoder/chat-template.js";
import type { TextEngine } from "../../models/decoder/open.js";
import type {
  AnswerFormat,
  AnswerPart,
  ConversationMessage,
  GenerationChoice,
  GenerationDelta,
  GenerationEnd,
  GenerationOutput,
  GenerationRequest,
} from "../../models/decoder/request/generation-request.js";
import type {
  AnswerMask,
  AnswerSpec,
  ChosenLogprob,
  TextEvent,
  TextJob,
} from "../../models/decoder/request/request.js";
import {
  createToolCallReader,
  marksCalls,
  type ToolCallReaderOptions,
} from "../../models/decoder/tools/index.js";
import { openModel } from "../../models/registry.js";
import { loadModelPackage } from "../../runtime/packages/model-package.js";
import type { TextCompletionRequest } from "../shared/completion-body.js";
import { continuePrompts, samplingOf } from "./continue-prompts.js";

interface Task {
  readonly engine: TextEngine;
  readonly template: ChatTemplate;
  readonly request: GenerationRequest;
  readonly signal: AbortSignal;
  /** Whose earlier prompts may serve. */
  readonly tenant: string | undefined;
}

/**
 * Serves chat and responses: conversation → prompt → tokens → text and calls. And text completions, whose
 * prompts are there.
 */
export async function createChatPipeline(
  setup: PipelineSetup,
): Promise<Pipeline<GenerationRequest | TextCompletionRequest, GenerationOutput>> {
  const model = await loadModelPackage(setup.modelPath, setup);
  const engine = await openModel("chat", model, setup);
  const template = await openChatTemplate(model, engine.info.addedTokens).catch(async (error) => {
    await engine.close();
    throw error;
  });
  return {
    run: (request, { signal, tenant }) =>
      "prompts" in request
        ? complete(request, continuePrompts({ engine, request, signal, tenant }), signal)
        : generate({ engine, template, request, signal, tenant }),
    close: () => engine.close(),
  };
}

async function* generate(task: Task): AsyncGenerator<PipelineEvent<GenerationOutput>> {
  const { request, signal } = task;
  const writers = Array.from({ length: request.n }, () => createWriter(task));
  yield* write(writers, { events: begun(await start(task, request.messages)), request, signal });
}

async function* complete(
  request: TextCompletionRequest,
  events: AsyncIterable<TextEvent>,
  signal: AbortSignal,
): AsyncGenerator<PipelineEvent<GenerationOutput>> {
  const withLogprobs = request.logprobs !== null;
  const writers = Array.from({ length: request.prompts.length * request.n }, () =>
    createAnswerWriter({ withLogprobs, calls: undefined }),
  );
  yield* write(writers, { events, request, signal });
}

interface Writing {
  readonly events: AsyncIterable<TextEvent>;
  readonly request: Pick<GenerationRequest, "stream">;
  readonly signal: AbortSignal;
}

/** A writer for each choice; deltas where the answer streams. */
async function* write(
  writers: readonly AnswerWriter[],
  { events, request, signal }: Writing,
): AsyncGenerator<PipelineEvent<GenerationOutput>> {
  const tokenCounts = writers.map(() => 0);
  let usage: GenerationOutput["usage"] | undefined;
  for await (const event of events) {
    signal.throwIfAborted();
    if (event.type === "end") usage = event.usage;
    else {
      const delta = findWriter(writers, event.choice).add(event);
      if (!request.stream || delta === undefined) continue;
      const { choice, tokenCount, promptTokenCount: inputTokens } = event;
      tokenCounts[choice] = tokenCount;
      const units = {
        inputTokens,
        outputTokens: tokenCounts.reduce((sum, count) => sum + count, 0),
      };
      yield { type: "chunk", chunk: { type: "json", value: delta, units } };
    }
  }
  if (usage === undefined) throw new JobError("invalid_output", "the answer has no end");
  yield { type: "output", output: { choices: writers.map((writer) => writer.finish()), usage } };
}

function findWriter(writers: readonly AnswerWriter[], choice: number): AnswerWriter {
  const writer = writers[choice];
  if (writer === undefined) throw new JobError("invalid_output", `there is no choice ${choice}`);
  return writer;
}

interface Started {
  readonly events: AsyncIterator<TextEvent>;
  readonly first: IteratorResult<TextEvent>;
}

/** The events from the first on. */
async function* begun({ events, first }: Started): AsyncGenerator<TextEvent> {
  try {
    for (let next = first; !next.done; next = await events.next()) yield next.value;
  } finally {
    await events.return?.();
  }
}

/** The first event; where the request allows it, the oldest messages go until the prompt fits. */
async function start(task: Task, messages: readonly ConversationMessage[]): Promise<Started> {
  const whole = await tryStart(task, messages);
  if ("events" in whole) return whole;
  const turns = task.request.truncate ? turnsOf(messages) : [];
  const without = (count: number) => {
    const gone = new Set(turns.slice(0, count).flat());
    return messages.filter((_, index) => !gone.has(index));
  };
  let failed = 0;
  for (let count = 1; failed < turns.length; count = Math.min(2 * count, turns.length)) {
    const started = await tryStart(task, without(count));
    if ("events" in started) return await keepMore({ task, without, failed }, { started, count });
    failed = count;
  }
  throw whole.tooLong;
}

interface Found {
  readonly started: Started;
  /** Turns that it leaves out. */
  readonly count: number;
}

/** The prompt with the fewest turns left out between one that was too long and one that fits. */
async function keepMore(
  search: {
    readonly task: Task;
    readonly without: (count: number) => readonly ConversationMessage[];
    readonly failed: number;
  },
  found: Found,
): Promise<Started> {
  const { task, without, failed } = search;
  if (found.count - failed <= 1) return found.started;
  const count = Math.floor((found.count + failed) / 2);
  const started = await tryStart(task, without(count)).catch(async (error) => {
    await found.started.events.return?.();
    throw error;
  });
  if (!("events" in started)) return await keepMore({ ...search, failed: count }, found);
  await found.started.events.return?.();
  return await keepMore(search, { started, count });
}

async function tryStart(
  task: Task,
  messages: readonly ConversationMessage[],
): Promise<Started | { readonly tooLong: unknown }> {
  const { engine, signal } = task;
  signal.throwIfAborted();
  const events = engine.generate(toTextJob(task, messages), signal)[Symbol.asyncIterator]();
  try {
    return { events, first: await events.next() };
  } catch (thrown) {
    if (toJobError(thrown).code === "context_length_exceeded") return { tooLong: thrown };
    throw thrown;
  }
}

/** Places of the messages that go together, oldest first. Instructions stay, and so does the last message. */
function turnsOf(messages: readonly ConversationMessage[]): number[][] {
  const turns: number[][] = [];
  for (const [index, { role }] of messages.slice(0, -1).entries()) {
    if (role === "system" || role === "developer") continue;
    const last = turns.at(-1);
    if (role === "tool" && last?.at(-1) === index - 1) last.push(index);
    else turns.push([index]);
  }
  return turns;
}

function toTextJob(
  { request, template, tenant }: Task,
  messages: readonly ConversationMessage[],
): TextJob {
  const tools = request.toolChoice === "none" ? [] : request.tools;
  const prompt = template.render(messages, tools, request.templateVariables);
  const { text, addSpecialTokens, mark, thinking, keepSpecialTokens } = prompt;
  const { promptParam } = request;
  const answer = maskOf(request, template);
  return {
    prompt: text,
    ...(promptParam !== undefined && { promptParam }),
    addSpecialTokens,
    mark,
    ...samplingOf(request),
    thinking,
    mask: thinking && answer ? { kind: "after-thinking", thinking, answer } : answer,
    cacheScope: tenant,
    keepSpecialTokens,
  };
}

/**
 * A forced call goes before the format of the answer, which is then not written. Where the model may
 * choose, its calls are held to the schemas of their functions where a marker tells them from text or it
 * is asked for, and what it writes in place of them to the format.
 */
function maskOf(request: GenerationRequest, { toolFormat }: ChatTemplate): AnswerMask | null {
  const { toolChoice, tools, format } = request;
  const answer = answerMask(format);
  if (toolChoice === "none" || tools.length === 0) return answer;
  const isForced = toolChoice !== "auto";
  const isAsked = isForced || answer !== null || tools.some(({ strict }) => strict);
  if (!isAsked && !marksCalls(toolFormat)) return null;
  const callable =
    typeof toolChoice === "object" ? tools.filter(({ name }) => name === toolChoice.name) : tools;
  const functions = callable.map(({ name, parameters, strict }) => {
    return { name, parameters: parameters ?? {}, isStrict: isForced || strict };
  });
  const parallel = request.parallelToolCalls && typeof toolChoice !== "object";
  const calls = { format: toolFormat, functions, parallel };
  return { kind: "tool-calls", calls, ...(!isForced && { otherwise: answer ?? "text" }) };
}

function answerMask(format: AnswerFormat): AnswerSpec | null {
  if (format.type === "json_object") return { kind: "json-object" };
  return format.type === "json_schema" ? { kind: "json-schema", schema: format.schema } : null;
}

function createWriter({ request, template }: Task): AnswerWriter {
  const { toolChoice, tools, parallelToolCalls } = request;
  const hasTools = toolChoice !== "none" && tools.length > 0;
  return createAnswerWriter({
    withLogprobs: request.logprobs !== null,
    calls: hasTools
      ? {
          format: template.toolFormat,
          tools: new Map(tools.map(({ name, parameters }) => [name, parameters])),
          maxCalls: parallelToolCalls ? Infinity : 1,
          createId: () => `call_${randomBytes(12).toString("hex")}`,
        }
      : undefined,
  });
}

type TextPiece = Extract<TextEvent, { type: "text" }>;

/** Puts one choice together, and says what each step added to it. */
interface AnswerWriter {
  /** Undefined where the step made nothing that is certain yet. */
  add(piece: TextPiece): GenerationDelta | undefined;
  finish(): GenerationChoice;
}

function createAnswerWriter(options: {
  readonly withLogprobs: boolean;
  /** How calls are read; undefined where none may be made. */
  readonly calls: ToolCallReaderOptions | undefined;
}): AnswerWriter {
  const reader = options.calls && createToolCallReader(options.calls);
  const parts: AnswerPart[] = [];
  const logprobs: ChosenLogprob[] = [];
  let pending: ChosenLogprob[] = [];
  let finishReason: GenerationEnd = "length";

  return {
    add(piece) {
      const added = read(piece, reader);
      for (const part of added) addPart(parts, part);
      logprobs.push(...(piece.logprobs ?? []));
      pending.push(...(piece.logprobs ?? []));
      if (piece.finishReason !== undefined)
        finishReason = endOf(piece.finishReason, reader?.callCount ?? 0);
      if (added.length === 0 && piece.finishReason === undefined) return undefined;
      const newLogprobs = pending;
      pending = [];
      return {
        choice: piece.choice,
        parts: added,
        ...(options.withLogprobs && { logprobs: newLogprobs }),
        ...(piece.finishReason !== undefined && { finishReason }),
      };
    },
    finish: () => ({ parts, finishReason, logprobs: options.withLogprobs ? logprobs : null }),
  };
}

function read(
  { text, reasoning, finishReason }: TextPiece,
  reader: ReturnType<typeof createToolCallReader> | undefined,
): AnswerPart[] {
  const thoughts: AnswerPart[] =
    reasoning === undefined ? [] : [{ type: "reasoning", text: reasoning }];
  if (reader === undefined) return text === "" ? thoughts : [...thoughts, { type: "text", text }];
  const parts = [...thoughts, ...reader.push(text)];
  return finishReason === undefined ? parts : [...parts, ...reader.finish()];
}

/** An answer that stopped after its calls waits for their results. */
function endOf(reason: "stop" | "length", callCount: number): GenerationEnd {
  return reason === "stop" && callCount > 0 ? "tool_calls" : reason;
}

/** Texts of one kind that follow each other are one. */
function addPart(parts: AnswerPart[], part: AnswerPart): void {
  const last = parts.at(-1);
  if (part.type !== "call" && last?.type === part.type)
    parts[parts.length - 1] = { ...part, text: last.text + part.text };
  else parts.push(part);
}
