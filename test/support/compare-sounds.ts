/** Greatest correlation of a quarter second within 70 ms, and the difference of loudness in decibels; 16 kHz. */
export function correlate(got: Float32Array, expected: Float32Array) {
  const middle = expected.subarray(16_000, 20_000);
  let correlation = 0;
  for (let shift = -1_120; shift <= 1_120; shift++) {
    const other = got.subarray(16_000 + shift, 20_000 + shift);
    const scale = Math.sqrt(product(middle, middle) * product(other, other));
    correlation = Math.max(correlation, product(middle, other) / scale);
  }
  return {
    correlation,
    decibels: 10 * Math.log10(product(got, got) / product(expected, expected)),
  };
}

function product(one: Float32Array, other: Float32Array): number {
  let sum = 0;
  for (let at = 0; at < one.length; at++) sum += (one[at] ?? 0) * (other[at] ?? 0);
  return sum;
}
