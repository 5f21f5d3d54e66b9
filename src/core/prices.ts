import { keyOfTier, SERVICE_TIERS, type ServiceTier } from "./service-tier.js";
import { type Prices, UNIT_NAMES } from "./usage.js";

/**
 * `<modality>`, `<modality>/<tier>`, either with `@<service tier>` and with `:<model id>`, in this order; the
 * most specific key that fits wins.
 */
export type PriceTable = Readonly<Record<string, Prices>>;

/** Prices of a modality whose requests differ by tier: `fast` makes the row `<modality>/fast`. */
export interface TierPrices<Request> {
  tierOf(request: Request): string;
  readonly byTier: Readonly<Record<string, Prices>>;
}

type Priced<Request> = { readonly name: string; readonly prices: Prices | TierPrices<Request> };

/** List prices of the service tiers, of what `default` costs. */
const SHARE_OF_DEFAULT: Readonly<Record<ServiceTier, number>> = {
  priority: 2,
  default: 1,
  flex: 0.5,
};

/** The table of the list prices that modalities come with, a row for each service tier. */
export function listPrices(modalities: readonly Priced<never>[]): PriceTable {
  const rows = modalities.flatMap(rowsOf);
  return Object.fromEntries(
    rows.flatMap(([key, prices]) =>
      SERVICE_TIERS.map((serviceTier): [string, Prices] => [
        keyOfTier(key, serviceTier),
        scale(prices, SHARE_OF_DEFAULT[serviceTier]),
      ]),
    ),
  );
}

function rowsOf({ name, prices }: Priced<never>): [string, Prices][] {
  if (!("byTier" in prices)) return [[name, prices]];
  return Object.entries(prices.byTier).map(([tier, row]) => [`${name}/${tier}`, row]);
}

function scale(prices: Prices, factor: number): Prices {
  const priced = UNIT_NAMES.filter((name) => prices[name] !== undefined);
  return Object.fromEntries(priced.map((name) => [name, (prices[name] ?? 0) * factor]));
}

/** The tier that a request is priced by; undefined where its modality has none. */
export function tierOf<Request>(
  { prices }: Pick<Priced<Request>, "prices">,
  request: Request,
): string | undefined {
  return "byTier" in prices ? prices.tierOf(request) : undefined;
}

interface PricedJob {
  readonly modality: string;
  readonly tier?: string;
  readonly model: string;
}

/** The row for a job. Throws where the table has none: nothing is given away by accident. */
export function findPrices(table: PriceTable, job: PricedJob): Prices {
  const prices = findTierPrices(table, job, "default");
  if (prices !== undefined) return prices;
  throw new Error(`the price table has no row for ${job.modality}: add one to PRICES_FILE`);
}

/**
 * The row for a job of a service tier; undefined where that is not offered: no row names it, or the row that
 * does is less specific than the one of `default`, for which it was not meant.
 */
export function findTierPrices(
  table: PriceTable,
  { modality, tier, model }: PricedJob,
  serviceTier: ServiceTier,
): Prices | undefined {
  const tiered = tier === undefined ? [] : [`${modality}/${tier}`];
  // Most specific first.
  const places = [
    ...tiered.map((key) => [key, `:${model}`]),
    [modality, `:${model}`],
    ...tiered.map((key) => [key, ""]),
    [modality, ""],
  ];
  for (const [key = "", ofModel = ""] of places) {
    const row = `${keyOfTier(key, serviceTier)}${ofModel}`;
    if (Object.hasOwn(table, row)) return table[row];
    if (Object.hasOwn(table, `${key}${ofModel}`)) return undefined;
  }
  return undefined;
}
