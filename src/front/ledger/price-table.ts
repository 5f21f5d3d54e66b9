import { readFile } from "node:fs/promises";
import { z } from "zod";
import { LIST_PRICES, type PriceTable } from "../../core/prices.js";
import { UNIT_NAMES } from "../../core/usage.js";
import { listModalities } from "../../modalities/registry.js";

const KEY = /^([a-z]+)(\/[\w-]+)?(:[\w.-]+)?$/;
const KEY_FORM = "must be modality[/tier][:model]";

const price = z
  .number("must be micro-dollars a unit")
  .min(0, "must be micro-dollars a unit, 0 or more")
  .optional();
const rows = z.record(
  z.string().regex(KEY, KEY_FORM),
  z.strictObject(Object.fromEntries(UNIT_NAMES.map((name) => [name, price]))),
);

/**
 * The list prices with an operator's rows in their place; a row for a whole modality also takes the
 * place of the list's rows for its tiers. Throws a sentence that names the row.
 */
export async function readPriceTable(path: string | undefined): Promise<PriceTable> {
  if (path === undefined) return LIST_PRICES;
  const own = parseRows(path, await readJson(path));
  const kept = Object.entries(LIST_PRICES).filter(([key]) => own[modalityOf(key)] === undefined);
  return { ...Object.fromEntries(kept), ...own };
}

async function readJson(path: string): Promise<unknown> {
  try {
    return JSON.parse(await readFile(path, "utf8"));
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new Error(`PRICES_FILE ${path} cannot be read: ${reason}`, { cause });
  }
}

function parseRows(path: string, value: unknown): PriceTable {
  const parsed = rows.safeParse(value);
  if (!parsed.success) throw new Error(`PRICES_FILE ${path}: ${describeIssue(parsed.error)}`);
  const known = new Set(listModalities().map(({ name }) => name));
  const stray = Object.keys(parsed.data).find((key) => !known.has(modalityOf(key)));
  if (stray !== undefined)
    throw new Error(
      `PRICES_FILE ${path}: ${stray} names no modality; there are ${[...known].join(", ")}`,
    );
  return withoutAbsent(parsed.data);
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

function withoutAbsent(table: z.infer<typeof rows>): PriceTable {
  return Object.fromEntries(
    Object.entries(table).map(([key, prices]) => [
      key,
      Object.fromEntries(Object.entries(prices).filter(([, value]) => value !== undefined)),
    ]),
  );
}
