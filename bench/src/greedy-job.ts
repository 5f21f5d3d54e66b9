import type { TextJob } from "../../src/models/decoder/request/request.js";

/** One greedy answer of at most `maxTokens` tokens, with nothing asked beside its text. */
export function greedyJob(prompt: string, maxTokens: number): TextJob {
  return {
    prompt,
    maxTokens,
    addSpecialTokens: true,
    n: 1,
    temperature: 0,
    topP: 1,
    topK: 0,
    minP: 0,
    frequencyPenalty: 0,
    presencePenalty: 0,
    seed: 1,
    stop: [],
    logitBias: {},
    logprobs: null,
    mask: null,
  };
}
