import { sql, type Kysely } from "kysely";
import { readMonth } from "../../core/moments.js";
import { JobError } from "../../core/errors.js";
import type { Tables } from "../ledger/index.js";
import { summariseUsage, type UsageSummary } from "./usage-summaries.js";

/** What one project owes for a month. */
export interface Invoice {
  readonly projectId: string;
  readonly project: string;
  /** By model and tier, exact. */
  readonly lines: readonly UsageSummary[];
  /** Exact sum of the lines. */
  readonly chargedNanoUsd: number;
  /** The sum rounded to the cent, half a cent up: the only place where anything is rounded. */
  readonly amountCents: number;
}

export interface MonthlyInvoices {
  /** `2026-11`, UTC. */
  readonly month: string;
  /** Whether the month is over and all of its charges are summed: nothing changes any more. */
  readonly isClosed: boolean;
  readonly invoices: readonly Invoice[];
  /** Sum of the invoices' amounts. */
  readonly amountCents: number;
}

export interface InvoicesQuery {
  /** `2026-11`, UTC. */
  readonly month: string;
  /** Id or name; all where absent. */
  readonly project?: string;
}

const NANO_USD_PER_CENT = 10_000_000;

/** What every project, or one, owes for a month, the dearest first. */
export async function readInvoices(
  db: Kysely<Tables>,
  { month, project }: InvoicesQuery,
): Promise<MonthlyInvoices> {
  const time = readMonth(month);
  if (time === undefined)
    throw new JobError("invalid_value", `month must be e.g. 2026-11, got ${month}`, {
      param: "month",
    });
  const { rows } = await sql<{ is_closed: boolean }>`
    SELECT rolled_until >= ${time.until}::timestamptz AS is_closed FROM usage_rollup`.execute(db);
  const lines = await summariseUsage(db, { ...time, ...(project !== undefined && { project }) });
  const byProject = new Map<string, UsageSummary[]>();
  for (const line of lines) {
    const { projectId = "" } = line;
    byProject.set(projectId, [...(byProject.get(projectId) ?? []), line]);
  }
  const invoices = [...byProject].map(([projectId, own]) => toInvoice(projectId, own));
  return {
    month,
    isClosed: rows[0]?.is_closed ?? false,
    invoices: invoices.toSorted((a, b) => b.chargedNanoUsd - a.chargedNanoUsd),
    amountCents: invoices.reduce((sum, { amountCents }) => sum + amountCents, 0),
  };
}

function toInvoice(projectId: string, lines: readonly UsageSummary[]): Invoice {
  const chargedNanoUsd = lines.reduce((sum, line) => sum + line.chargedNanoUsd, 0);
  const amountCents = Math.floor((chargedNanoUsd + NANO_USD_PER_CENT / 2) / NANO_USD_PER_CENT);
  return { projectId, project: lines[0]?.project ?? "", lines, chargedNanoUsd, amountCents };
}
