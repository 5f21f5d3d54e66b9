import { BINS, BINS_PER_NAT, weighIntoBins } from "../sampling/exp-bins.js";
import { argmax, LargestLogits } from "../sampling/largest-logits.js";

/** Most tokens that are told beside a chosen one. */
const MOST_LIKELY_TOKENS = 20;

/** Told of what is less likely, so that JSON can carry it. */
const LEAST_LOGPROB = -9_999;

export interface LikelyTokens {
  /** Likeliest first. */
  readonly ids: readonly number[];
  /** Natural logarithm of a token's probability. */
  logprobOf(id: number): number;
}

/** Finds the likeliest tokens; one a thread, its memory is reused. */
export function createLikelyTokens(): (logits: Float32Array, count: number) => LikelyTokens {
  const largest = new LargestLogits(MOST_LIKELY_TOKENS);
  const bins = new Float64Array(BINS);
  return (logits, count) => {
    const valueOf = (id: number) => logits[id] ?? -Infinity;
    const max = valueOf(argmax(logits));
    // Of exp(logit).
    const logSum = max + Math.log(weighIntoBins(logits, { max, scale: BINS_PER_NAT }, bins));
    const ids = count === 0 ? [] : [...largest.select(logits, count)];
    return {
      ids: ids.toSorted((a, b) => valueOf(b) - valueOf(a) || a - b),
      logprobOf: (id) => Math.max(LEAST_LOGPROB, valueOf(id) - logSum),
    };
  };
}
