/** What can be sold. A modality fills only the units it sells. */
export interface Units {
  readonly inputTokens?: number;
  readonly outputTokens?: number;
  readonly images?: number;
  readonly audioSeconds?: number;
  readonly videoSeconds?: number;
  readonly characters?: number;
  readonly searches?: number;
}

export type UnitName = keyof Units;

export const UNIT_NAMES = [
  "inputTokens",
  "outputTokens",
  "images",
  "audioSeconds",
  "videoSeconds",
  "characters",
  "searches",
] as const satisfies readonly UnitName[];

/** Counted units of one job. */
export interface Usage extends Units {
  /** Wall time the GPU slot was held, in milliseconds. Never billed, always recorded. */
  readonly gpuMs: number;
}

/** Micro-dollars of one unit each; fractions are allowed, amounts are whole. */
export type Prices = Units;

/** What a job will cost at most, fixed when it is accepted. Money is integer micro-dollars. */
export interface Quote {
  readonly prices: Prices;
  /** Units the job may use at most. */
  readonly units: Units;
  readonly amountMicroUsd: number;
}

export function quote(prices: Prices, units: Units): Quote {
  return { prices, units, amountMicroUsd: priceOf(prices, units) };
}

/** Whole micro-dollars; units without a price cost nothing. */
export function priceOf(prices: Prices, units: Units): number {
  const parts = UNIT_NAMES.map((name) => (prices[name] ?? 0) * (units[name] ?? 0));
  return Math.round(parts.reduce((sum, part) => sum + part, 0));
}
