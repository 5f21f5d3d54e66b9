import { randomInt } from "node:crypto";
import { contextExceeded, JobError } from "../../core/errors.js";
import type { TextTokenizer } from "../tokenizer/text-tokenizer.js";
import { Choice, type Continuation } from "./choice.js";
import type { DecoderConfig } from "./settings.js";
import { randomStream } from "../sampling/noise.js";
import type { MaskFactory, TextJob, TextUsage } from "./request/request.js";
import type { TokenSampler } from "../sampling/token-sampler.js";

/** One request in the engine: its prompt as ids and its answers. */
export interface Generation {
  readonly id: number;
  readonly promptTokens: readonly number[];
  readonly choices: readonly Continuation[];
  /** Whose earlier prompts may serve this one. */
  readonly cacheScope: string | undefined;
  /** Tokens of the prompt that were known from earlier ones. */
  cachedTokens: number;
  /** Failed or cancelled: what it left in memory serves no other. */
  isBroken: boolean;
}

export interface GenerationTools {
  readonly tokenizer: TextTokenizer;
  readonly config: DecoderConfig;
  readonly sampler: TokenSampler;
  /** Opens what follows grammars; loaded when a request first needs it. */
  readonly loadMasks: () => Promise<MaskFactory>;
}

/** Throws `context_length_exceeded` where not even one token of an answer fits. */
export async function createGeneration(
  id: number,
  job: TextJob,
  tools: GenerationTools,
): Promise<Generation> {
  const { tokenizer, config, sampler } = tools;
  const { contextTokens } = config;
  const { repetitionPenalty = config.repetitionPenalty } = job;
  checkCharacters(job, tokenizer, contextTokens);
  const promptTokens = encodePrompt(job, tools);
  if (promptTokens.length + 1 > contextTokens) {
    throw tooLong(
      job,
      contextTokens,
      `has ${promptTokens.length} tokens, and the answer needs at least one more`,
    );
  }
  const room = contextTokens - promptTokens.length;
  const seed = job.seed ?? randomInt(2 ** 47);
  const masks = job.mask === null ? undefined : await tools.loadMasks();
  const shared = {
    job,
    promptTokens,
    tokenizer,
    sampler,
    edits: {
      frequencyPenalty: job.frequencyPenalty,
      presencePenalty: job.presencePenalty,
      repetitionPenalty,
      bias: new Map(Object.entries(job.logitBias).map(([token, bias]) => [Number(token), bias])),
    },
    promptSet: new Set(repetitionPenalty === 1 ? [] : promptTokens),
    stopTokenIds: new Set(config.stopTokenIds),
    limit: Math.min(job.maxTokens ?? room, room),
  };
  const choices = Array.from({ length: job.n }, (_, index) => {
    const mask = job.mask === null ? null : (masks?.(job.mask) ?? null);
    return new Choice({ ...shared, index, mask, random: randomStream(seed, index) });
  });
  const { cacheScope } = job;
  return { id, promptTokens, choices, cacheScope, cachedTokens: 0, isBroken: false };
}

/** Refuses what cannot fit before its tokens are counted, which takes longer than anything else may wait. */
function checkCharacters(
  job: TextJob,
  { longestToken }: TextTokenizer,
  contextTokens: number,
): void {
  const { length } = job.prompt;
  if (length <= contextTokens * longestToken) return;
  throw tooLong(
    job,
    contextTokens,
    `has ${length} characters, of which a token stands for ${longestToken} at most`,
  );
}

function tooLong({ promptParam = "messages" }: TextJob, contextTokens: number, has: string) {
  return contextExceeded(contextTokens, `your prompt ${has}`, promptParam);
}

/** A model cannot start from nothing: an empty prompt becomes its first token. */
function encodePrompt(job: TextJob, { tokenizer }: GenerationTools): readonly number[] {
  const { prompt, promptTokens, promptParam: param = "messages", addSpecialTokens, mark } = job;
  const options = { addSpecialTokens, ...(mark !== undefined && { mark }) };
  const ids = promptTokens ?? tokenizer.encode(prompt, options).ids;
  if (ids.length > 0) return ids;
  const first = tokenizer.special.bos ?? tokenizer.special.eos;
  if (first !== undefined) return [first];
  throw new JobError("invalid_value", "the prompt must have at least one token", { param });
}

export function usageOf({ promptTokens, choices, cachedTokens }: Generation): TextUsage {
  const reasoningTokens = choices.reduce((sum, choice) => sum + choice.reasoningTokenCount, 0);
  const completionTokens = choices.reduce((sum, { tokenCount }) => sum + tokenCount, 0);
  return { promptTokens: promptTokens.length, completionTokens, cachedTokens, reasoningTokens };
}
