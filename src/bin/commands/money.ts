export function formatUsd(microUsd: number): string {
  return formatNanoUsd(Math.round(microUsd * 1_000));
}

/** Dollars of nano-dollars: six decimals, and more where there are any. */
export function formatNanoUsd(nanoUsd: number): string {
  return `$${(nanoUsd / 1_000_000_000).toFixed(9).replace(/0{1,3}$/, "")}`;
}
