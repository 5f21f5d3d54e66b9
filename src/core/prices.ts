import type { Prices } from "./usage.js";

/** `<modality>`, `<modality>/<tier>`, or either with `:<model id>`; the longest key that fits wins. */
export type PriceTable = Readonly<Record<string, Prices>>;

/** Prices of a modality whose requests differ by tier: `fast` makes the row `<modality>/fast`. */
export interface TierPrices<Request> {
  tierOf(request: Request): string;
  readonly byTier: Readonly<Record<string, Prices>>;
}

type Priced<Request> = { readonly name: string; readonly prices: Prices | TierPrices<Request> };

/** The table of the list prices that modalities come with. */
export function listPrices(modalities: readonly Priced<never>[]): PriceTable {
  return Object.fromEntries(modalities.flatMap(rowsOf));
}

function rowsOf({ name, prices }: Priced<never>): [string, Prices][] {
  if (!("byTier" in prices)) return [[name, prices]];
  return Object.entries(prices.byTier).map(([tier, row]) => [`${name}/${tier}`, row]);
}

/** The tier that a request is priced by; undefined where its modality has none. */
export function tierOf<Request>(
  { prices }: Pick<Priced<Request>, "prices">,
  request: Request,
): string | undefined {
  return "byTier" in prices ? prices.tierOf(request) : undefined;
}

/** The row for a job. Throws where the table has none: nothing is given away by accident. */
export function findPrices(
  table: PriceTable,
  {
    modality,
    tier,
    model,
  }: { readonly modality: string; readonly tier?: string; readonly model: string },
): Prices {
  const tiered = tier === undefined ? [] : [`${modality}/${tier}:${model}`, `${modality}/${tier}`];
  const keys = [...tiered.slice(0, 1), `${modality}:${model}`, ...tiered.slice(1), modality];
  const key = keys.find((candidate) => Object.hasOwn(table, candidate));
  if (key !== undefined) return table[key] ?? {};
  throw new Error(`the price table has no row for ${keys.at(-1)}: add one to PRICES_FILE`);
}
