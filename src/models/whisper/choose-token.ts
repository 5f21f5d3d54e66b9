import { JobError } from "../../core/errors.js";

export interface Choice {
  readonly token: number;
  /** Natural logarithm of its probability at temperature 1. */
  readonly logprob: number;
}

/**
 * The likeliest token at temperature 0, else one drawn from the tempered distribution. Throws
 * `invalid_output` where the logits are not numbers or leave no choice.
 */
export function chooseToken(
  logits: Float32Array,
  temperature: number,
  random: () => number,
): Choice {
  const best = likeliest(logits);
  const most = logits[best] ?? Number.NaN;
  const total = Number.isFinite(most) ? sumExp(logits, most, 1) : Number.NaN;
  if (Number.isNaN(total))
    throw new JobError("invalid_output", "the decoder's scores are not numbers");
  const token = temperature === 0 ? best : draw(logits, temperature, { most, at: random() });
  return { token, logprob: (logits[token] ?? -Infinity) - most - Math.log(total) };
}

function likeliest(logits: Float32Array): number {
  let best = 0;
  let most = logits[0] ?? -Infinity;
  for (let id = 1; id < logits.length; id++) {
    const logit = logits[id] ?? -Infinity;
    if (logit > most) {
      most = logit;
      best = id;
    }
  }
  return best;
}

/** Below e^-40 nothing changes in a sum's 53 bits. */
const NEGLIGIBLE = -40;

/** Σ exp((logit - most) / temperature); NaN where one of them is. */
function sumExp(logits: Float32Array, most: number, temperature: number): number {
  let sum = 0;
  for (let id = 0; id < logits.length; id++) {
    const above = ((logits[id] ?? -Infinity) - most) / temperature;
    if (!(above <= NEGLIGIBLE)) sum += Math.exp(above);
  }
  return sum;
}

/** The token at the share `at`, in [0, 1), of the cumulated tempered probabilities. */
function draw(
  logits: Float32Array,
  temperature: number,
  { most, at }: { readonly most: number; readonly at: number },
): number {
  let rest = at * sumExp(logits, most, temperature);
  for (let id = 0; id < logits.length; id++) {
    const above = ((logits[id] ?? -Infinity) - most) / temperature;
    if (above <= NEGLIGIBLE) continue;
    rest -= Math.exp(above);
    if (rest < 0) return id;
  }
  return likeliest(logits);
}
