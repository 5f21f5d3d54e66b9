import type { EmbeddingsOutput } from "#framemill/modalities/embeddings/request.js";

/** The vectors of an answer, one a text. */
export function vectorsOf({ vectors, dimensions }: EmbeddingsOutput): number[][] {
  const floats = new Float32Array(Uint8Array.from(Buffer.from(vectors, "base64")).buffer);
  const count = floats.length / dimensions;
  return Array.from({ length: count }, (_, index) => [
    ...floats.subarray(index * dimensions, (index + 1) * dimensions),
  ]);
}

/** Greatest difference of two vectors; not a number where they have different lengths. */
export function distance(a: readonly number[], b: readonly number[]): number {
  if (a.length !== b.length) return Number.NaN;
  return Math.max(...a.map((value, index) => Math.abs(value - (b[index] ?? Number.NaN))));
}

/** The vector of length 1 in the same direction. */
export function unit(vector: readonly number[]): number[] {
  return vector.map((value) => value / Math.hypot(...vector));
}
