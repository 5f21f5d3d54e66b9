/** 0 to 1. */
export function sigmoid(logit: number): number {
  return 1 / (1 + Math.exp(-logit));
}

/** Shares of 1, by the differences to the greatest logit, so that nothing overflows. */
export function softmax(logits: ArrayLike<number>): number[] {
  const values = Array.from(logits);
  const greatest = Math.max(...values);
  const powers = values.map((value) => Math.exp(value - greatest));
  const sum = powers.reduce((total, power) => total + power, 0);
  return powers.map((power) => power / sum);
}
