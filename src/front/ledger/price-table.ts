import { readFile } from "node:fs/promises";
import { z } from "zod";
import { messageOf } from "../../core/errors.js";
import { listPrices, type PriceTable } from "../../core/prices.js";
import type { ModelInfo } from "../../core/modality.js";
import { UNIT_NAMES } from "../../core/usage.js";
import { findModality, listModalities } from "../../modalities/registry.js";

const KEY = /^([a-z]+)(\/[\w-]+)?(@(?:flex|priority))?(:[\w.-]+)?$/;
const KEY_FORM = "must be modality[/tier][@flex or @priority][:model]";

const price = z
  .number("must be micro-dollars a unit")
  .min(0, "must be micro-dollars a unit, 0 or more")
  .exactOptional();
const rows = z.record(
  z.string().regex(KEY, KEY_FORM),
  z.strictObject(Object.fromEntries(UNIT_NAMES.map((name) => [name, price]))),
);

/**
 * The list prices with an operator's rows in their place; a row for a whole modality also takes the
 * place of the list's rows for its tiers, and any row that of the list's for its service tiers: a job that
 * is dearer or cheaper than by the list is not sold at the list's share. The error of a wrong one names its
 * row.
 */
export async function readPriceTable(path: string | undefined): Promise<PriceTable> {
  const listed = listPrices(listModalities());
  if (path === undefined) return listed;
  const own = parseRows(path, await readJson(path));
  checkKeys(path, own, listed);
  const kept = Object.entries(listed).filter(
    ([key]) => own[modalityOf(key)] === undefined && own[withoutServiceTier(key)] === undefined,
  );
  return { ...Object.fromEntries(kept), ...own };
}

async function readJson(path: string): Promise<unknown> {
  try {
    return JSON.parse(await readFile(path, "utf8"));
  } catch (cause) {
    throw new Error(`PRICES_FILE ${path} cannot be read: ${messageOf(cause)}`, { cause });
  }
}

function parseRows(path: string, value: unknown): PriceTable {
  const parsed = rows.safeParse(value);
  if (!parsed.success) throw new Error(`PRICES_FILE ${path}: ${describeIssue(parsed.error)}`);
  return parsed.data;
}

/** A row that fits no job would leave the list price in force, unseen. */
function checkKeys(path: string, own: PriceTable, listed: PriceTable): void {
  const known = new Set(Object.keys(listed).flatMap((key) => [modalityOf(key), key]));
  const fail = (reason: string): never => {
    throw new Error(`PRICES_FILE ${path}: ${reason}`);
  };
  for (const key of Object.keys(own)) {
    const usual = withoutServiceTier(key);
    if (!known.has(usual.replace(/:.*/, "")))
      fail(`${key} names no modality or tier; there are ${[...known].join(", ")}`);
    const isUsual = own[usual] !== undefined || listed[usual] !== undefined;
    if (!isUsual) fail(`${key} is of a service tier, and ${usual} has no row beside it`);
  }
}

/** Refuses a model of a tier without a price: its requests would fail when they are sent. */
export function checkTiers(models: readonly ModelInfo[]): void {
  for (const { id, modality, tiers = [] } of models) {
    const { prices = {} } = findModality(modality) ?? {};
    const priced = "byTier" in prices ? Object.keys(prices.byTier) : [];
    const unpriced = tiers.find((tier) => !priced.includes(tier));
    if (unpriced === undefined) continue;
    const known = priced.join(", ") || "none";
    throw new Error(
      `the model ${id} names the tier ${unpriced}, for which ${modality} has no price; it has ${known}`,
    );
  }
}

/** The row, the unit where it is at fault, and the rule. */
function describeIssue({ issues }: z.ZodError): string {
  const [issue] = issues;
  if (issue === undefined) return "is not usable";
  const reason = issue.code === "invalid_key" ? KEY_FORM : issue.message;
  return `${issue.path.map(String).join(".")} ${reason}`.trim();
}

function modalityOf(key: string): string {
  return KEY.exec(key)?.[1] ?? key;
}

function withoutServiceTier(key: string): string {
  return key.replace(/@[a-z]+/, "");
}
