/** A share of an array in a sum. */
export type Term = readonly [weight: number, values: Float32Array];

/** The sum of equally long arrays, each times its weight; added up in double precision. */
export function weightedSum(...terms: readonly Term[]): Float32Array {
  const length = terms[0]?.[1].length ?? 0;
  const sums = new Float64Array(length);
  for (const [weight, values] of terms) {
    if (weight === 0) continue;
    for (let index = 0; index < length; index += 1)
      sums[index] = (sums[index] ?? 0) + weight * (values[index] ?? 0);
  }
  return Float32Array.from(sums);
}

/** Each value held within ± `range`. */
export function clamp(values: Float32Array, range: number): Float32Array {
  return values.map((value) => Math.min(Math.max(value, -range), range));
}
