import { EventQueue } from "../../core/async/event-queue.js";
import { inParallel } from "../../core/async/in-parallel.js";
import { toJobError } from "../../core/errors.js";
import type { TextEngine } from "../../models/decoder/open.js";
import type { SamplingRequest } from "../../models/decoder/request/generation-request.js";
import type { TextEvent, TextJob } from "../../models/decoder/request/request.js";
import { findMark } from "../../models/tokenizer/break-tokens.js";
import { MAX_CHOICES, type TextCompletionRequest } from "../shared/completion-body.js";
import { checkVocabulary } from "../shared/text-inputs.js";

interface Continuing {
  readonly engine: TextEngine;
  readonly request: TextCompletionRequest;
  readonly signal: AbortSignal;
  /** Whose earlier prompts may serve. */
  readonly tenant: string | undefined;
}

/**
 * Text of all prompts' choices as it becomes certain, and one end; choice `i` of prompt `k` is choice
 * `k * n + i`. No more choices are written at once than one prompt may have.
 */
export async function* continuePrompts(task: Continuing): AsyncGenerator<TextEvent> {
  const { engine, request, signal } = task;
  for (const [index, prompt] of request.prompts.entries())
    checkVocabulary(prompt, { param: "prompt", index }, engine.info.vocabSize);
  const left = new AbortController();
  const events = new EventQueue<TextEvent>();
  const usage = { promptTokens: 0, completionTokens: 0, cachedTokens: 0, reasoningTokens: 0 };
  const atOnce = Math.max(1, Math.floor(MAX_CHOICES / request.n));
  const working = inParallel(
    request.prompts.keys(),
    AbortSignal.any([signal, left.signal]),
    async (index, stopped) => {
      for await (const event of continuePrompt(task, index, stopped)) {
        if (event.type === "text") events.push(event);
        else {
          usage.promptTokens += event.usage.promptTokens;
          usage.completionTokens += event.usage.completionTokens;
          usage.cachedTokens += event.usage.cachedTokens;
        }
      }
    },
    atOnce,
  ).then(
    () => events.end(),
    (thrown: unknown) => events.fail(toJobError(thrown)),
  );
  try {
    yield* countPrompts(events, request.n);
    yield { type: "end", usage };
  } finally {
    left.abort();
    await working;
  }
}

async function* continuePrompt(
  { engine, request, tenant }: Continuing,
  index: number,
  signal: AbortSignal,
): AsyncGenerator<TextEvent> {
  const { prompts, n, echo } = request;
  const prompt = prompts[index] ?? "";
  const job: TextJob = {
    ...samplingOf(request),
    ...(typeof prompt === "string"
      ? // Tokens of structure that a prompt writes count: no template writes them for it.
        { prompt, mark: findMark(prompt) }
      : { prompt: "", promptTokens: prompt }),
    promptParam: "prompt",
    addSpecialTokens: request.addSpecialTokens,
    // Each prompt has draws of its own, and the first those that it has alone.
    seed: request.seed + index,
    mask: null,
    cacheScope: tenant,
    keepSpecialTokens: request.keepSpecialTokens,
  };
  const echoed = new Set<number>();
  const text = typeof prompt === "string" ? prompt : engine.textOf(prompt);
  for await (const event of engine.generate(job, signal)) {
    if (event.type === "end") yield event;
    else {
      const isFirst = echo && !echoed.has(event.choice);
      echoed.add(event.choice);
      yield {
        ...event,
        choice: index * n + event.choice,
        text: isFirst ? text + event.text : event.text,
      };
    }
  }
}

/** Has each event say the tokens of all prompts that are being continued, or were. */
async function* countPrompts(events: AsyncIterable<TextEvent>, n: number) {
  const counts = new Map<number, number>();
  let promptTokenCount = 0;
  for await (const event of events) {
    if (event.type === "end") continue;
    const prompt = Math.floor(event.choice / n);
    promptTokenCount += event.promptTokenCount - (counts.get(prompt) ?? 0);
    counts.set(prompt, event.promptTokenCount);
    yield { ...event, promptTokenCount };
  }
}

/** How a request's tokens are drawn, as the engine has it. */
export function samplingOf(request: SamplingRequest) {
  return {
    maxTokens: request.maxTokens,
    n: request.n,
    temperature: request.temperature,
    // The API allows 0, which means the likeliest token alone.
    topP: Math.max(request.topP, 1e-6),
    topK: request.topK,
    minP: request.minP,
    frequencyPenalty: request.frequencyPenalty,
    presencePenalty: request.presencePenalty,
    repetitionPenalty: request.repetitionPenalty,
    minTokens: request.minTokens,
    seed: request.seed,
    stop: request.stop,
    logitBias: request.logitBias,
    logprobs: request.logprobs,
  };
}
