/** How the vectors of a text's tokens become one. */
export type Pooling = "cls" | "mean" | "last" | "max" | "mean-sqrt-length";

interface TokenVectors {
  /** [rows, length, width], float32; the tokens of a row come first, padding after them. */
  readonly data: Float32Array;
  readonly length: number;
  readonly width: number;
}

/** The vector [width] of one row with `count` tokens. */
export function poolRow(
  { data, length, width }: TokenVectors,
  {
    row,
    count,
    pooling,
  }: { readonly row: number; readonly count: number; readonly pooling: Pooling },
): Float32Array {
  const from = row * length * width;
  const tokens = data.subarray(from, from + count * width);
  if (pooling === "cls") return tokens.slice(0, width);
  if (pooling === "last") return tokens.slice(Math.max(0, count - 1) * width);
  if (pooling === "max") return greatest(tokens, width);
  return mean(tokens, width, pooling === "mean" ? count : Math.sqrt(count));
}

function greatest(tokens: Float32Array, width: number): Float32Array {
  const pooled = tokens.slice(0, width);
  for (let at = width, column = 0; at < tokens.length; at += 1) {
    pooled[column] = Math.max(pooled[column] ?? 0, tokens[at] ?? 0);
    column = column + 1 === width ? 0 : column + 1;
  }
  return pooled;
}

/** Sums in double precision; `sentence-transformers` guards the divisor against 0 in the same way. */
function mean(tokens: Float32Array, width: number, divisor: number): Float32Array {
  const sum = new Float64Array(width);
  for (let at = 0, column = 0; at < tokens.length; at += 1) {
    sum[column] = (sum[column] ?? 0) + (tokens[at] ?? 0);
    column = column + 1 === width ? 0 : column + 1;
  }
  const share = 1 / Math.max(divisor, 1e-9);
  return Float32Array.from(sum.map((value) => value * share));
}

/** A copy of unit length; zeros stay zeros. */
export function normalised(vector: Float32Array): Float32Array {
  let squares = 0;
  for (const value of vector) squares += value * value;
  const scale = squares > 0 ? 1 / Math.sqrt(squares) : 0;
  return vector.map((value) => value * scale);
}

/** 0 to 1. */
export function sigmoid(logit: number): number {
  return 1 / (1 + Math.exp(-logit));
}

/** Shares of 1, by the differences to the greatest logit, so that nothing overflows. */
export function softmax(logits: ArrayLike<number>): number[] {
  const values = Array.from(logits);
  const max = Math.max(...values);
  const powers = values.map((value) => Math.exp(value - max));
  const sum = powers.reduce((total, power) => total + power, 0);
  return powers.map((power) => power / sum);
}
