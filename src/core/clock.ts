/** Milliseconds of Unix time with fractions: the same clock in every thread, and it never goes back. */
export function unixMs(): number {
  return performance.timeOrigin + performance.now();
}
