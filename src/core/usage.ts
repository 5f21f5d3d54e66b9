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

/** Micro-dollars of one unit each; fractions are allowed. */
export type Prices = Units;

/** What a job will cost at most, fixed when it is accepted. Money is integer nano-dollars. */
export interface Quote {
  readonly prices: Prices;
  /** Units the job may use at most. */
  readonly units: Units;
  readonly amountNanoUsd: number;
}

export function quote(prices: Prices, units: Units): Quote {
  return { prices, units, amountNanoUsd: nanoPriceOf(prices, units) };
}

/** Units, of each at most so many. */
export function atMost(units: Units, most: Units): Units {
  const bounded = UNIT_NAMES.filter((name) => units[name] !== undefined).map(
    (name): [string, number] => [name, Math.min(units[name] ?? 0, most[name] ?? 0)],
  );
  return Object.fromEntries(bounded);
}

/** What counts against an allowance of tokens. */
export function tokensOf({ inputTokens = 0, outputTokens = 0 }: Units): number {
  return inputTokens + outputTokens;
}

/** Whole nano-dollars, which the ledger holds; units without a price cost nothing. */
export function nanoPriceOf(prices: Prices, units: Units): number {
  return Math.round(sumPrices(prices, units) * 1_000);
}

/** Whole micro-dollars, in which a worker and a front compare what they counted. */
export function priceOf(prices: Prices, units: Units): number {
  return Math.round(sumPrices(prices, units));
}

/** Micro-dollars with their fraction. */
function sumPrices(prices: Prices, units: Units): number {
  const parts = UNIT_NAMES.map((name) => (prices[name] ?? 0) * (units[name] ?? 0));
  return parts.reduce((sum, part) => sum + part, 0);
}

/** What usage may be summed by. */
export const USAGE_GROUPS = ["day", "project", "key", "model", "tier", "service_tier"] as const;
export type UsageGroup = (typeof USAGE_GROUPS)[number];

/** Groups of a list such as `day,key`; undefined where one is unknown, or comes twice. */
export function readGroups(text: string): readonly UsageGroup[] | undefined {
  const words = text.split(",");
  const groups = USAGE_GROUPS.filter((group) => words.includes(group));
  return groups.length === words.length ? groups : undefined;
}
