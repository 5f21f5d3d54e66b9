import type { Prices } from "./usage.js";

/** `<modality>`, `<modality>/<tier>`, or either with `:<model id>`; the longest key that fits wins. */
export type PriceTable = Readonly<Record<string, Prices>>;

/**
 * Preliminary list prices in micro-dollars a unit: 0.15 for a token is 0.15 dollars a million tokens.
 * Video: interface specification, part 2. An operator replaces rows by PRICES_FILE.
 */
export const LIST_PRICES: PriceTable = {
  "video/fast": { videoSeconds: 80_000 },
  "video/standard": { videoSeconds: 180_000 },
  "video/high": { videoSeconds: 350_000 },
  chat: { inputTokens: 0.15, outputTokens: 0.6 },
  responses: { inputTokens: 0.15, outputTokens: 0.6 },
  "image/low": { images: 10_000 },
  "image/medium": { images: 20_000 },
  "image/high": { images: 40_000 },
  speech: { characters: 15 },
  transcription: { audioSeconds: 100 },
  music: { audioSeconds: 2_000 },
  embeddings: { inputTokens: 0.02 },
  rerank: { searches: 2_000 },
  moderation: {},
};

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
