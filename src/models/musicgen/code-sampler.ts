import { JobError } from "../../core/errors.js";
import { randomStream } from "../sampling/random.js";
import { TokenSampler } from "../sampling/token-sampler.js";
import type { ColumnLogits } from "./decoder.js";
import type { CodeSampling } from "./settings.js";

/** Where a code stands in the piece. */
export interface CodePlace {
  readonly codebook: number;
  /** Counted from the start of the piece. */
  readonly frame: number;
}

/** Chooses the code at a place. Throws `invalid_output` where the logits are not numbers. */
export interface CodeSampler {
  sample(logits: ColumnLogits, place: CodePlace): number;
}

/**
 * Guidance, then a draw among the likeliest codes. Each place has its own random number, whatever was
 * drawn before it.
 */
export function createCodeSampler(
  { guidance, topK, temperature }: CodeSampling,
  seed: number,
): CodeSampler {
  const settings = { temperature, topK, topP: 1, minP: 0 };
  let scores = new Float32Array(0);
  let sampler = new TokenSampler(0);
  return {
    sample(logits, { codebook, frame }) {
      if (scores.length !== logits.codes) {
        scores = new Float32Array(logits.codes);
        sampler = new TokenSampler(logits.codes);
      }
      guideInto(scores, logits, { codebook, guidance });
      return sampler.choose(scores, settings, randomStream(seed, codebook).at(frame));
    },
  };
}

/** Writes uncond + guidance × (cond − uncond). */
function guideInto(
  scores: Float32Array,
  logits: ColumnLogits,
  { codebook, guidance }: { readonly codebook: number; readonly guidance: number },
): void {
  const { values } = logits;
  const conditional = logits.offsetOf(0, codebook);
  const unconditional = guidance === 1 ? conditional : logits.offsetOf(1, codebook);
  for (let code = 0; code < scores.length; code++) {
    const without = values[unconditional + code] ?? Number.NaN;
    const score = without + guidance * ((values[conditional + code] ?? Number.NaN) - without);
    if (!Number.isFinite(score))
      throw new JobError("invalid_output", "the decoder produced logits that are not numbers");
    scores[code] = score;
  }
}
