/** Dollars of whole micro-dollars, to the last of them. */
export function formatUsd(microUsd: number): string {
  return `$${(microUsd / 1_000_000).toFixed(6)}`;
}
