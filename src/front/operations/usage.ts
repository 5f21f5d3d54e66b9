import {
  type Db,
  type Sql,
  sql,
  CHARGE_GROUP,
  CHARGE_SUMS,
  CHARGES_WITH_JOBS,
  inMicroUsd,
  isProject,
  ROLLED_UNTIL,
  startOf,
  unitColumn,
} from "../ledger/index.js";
import { type UsageGroup, UNIT_NAMES, type Units } from "../../core/usage.js";
import { readMonth } from "../../core/time.js";
import { JobError } from "../../core/errors.js";

const USUAL_GROUPS: readonly UsageGroup[] = ["project", "model", "tier", "service_tier"];

/** What was spent within one group; it has the fields that it is summed by. */
export interface UsageSummary {
  /** `2026-11-30`, UTC. */
  readonly day?: string;
  readonly projectId?: string;
  readonly project?: string;
  /** Null for charges that were made before keys were noted with them. */
  readonly keyId?: string | null;
  /** Null for one that is gone. */
  readonly key?: string | null;
  /** Null for charges that were made before models were noted with them. */
  readonly modality?: string | null;
  readonly model?: string | null;
  /** Row of the price table within the modality; empty where it has but one. */
  readonly tier?: string;
  /** `priority`, `default` or `flex`. */
  readonly serviceTier?: string;
  /** Charged jobs, those that were free included. */
  readonly jobs: number;
  readonly units: Units;
  /** With the fraction: nothing is rounded before the invoice. */
  readonly chargedMicroUsd: number;
  readonly chargedNanoUsd: number;
  /** Wall time of the attempts that were charged, in milliseconds. */
  readonly gpuMs: number;
}

export interface UsageQuery {
  /** Id or name; all by default. */
  readonly project?: string;
  /** ISO 8601; from the start of this month (UTC) by default. */
  readonly since?: string;
  /** ISO 8601, not included; until now by default. */
  readonly until?: string;
  /** By project, model, tier and service tier by default. */
  readonly by?: readonly UsageGroup[];
}

/** Units that were used at all, with their sums. */
const UNIT_SUMS = sql.join(
  UNIT_NAMES.flatMap((name) => [sql.lit(name), sql`nullif(sum(${unitColumn(name)}), 0)`]),
);

/** Columns of the answer, and what they are grouped by. */
const GROUP_COLUMNS: Readonly<Record<UsageGroup, Readonly<Record<string, Sql>>>> = {
  day: { day: sql`to_char(used.at AT TIME ZONE 'UTC', 'YYYY-MM-DD')` },
  project: { projectId: sql`used.project_id`, project: sql`projects.name` },
  key: { keyId: sql`nullif(used.api_key_id, '')`, key: sql`api_keys.name` },
  model: { modality: sql`nullif(used.modality, '')`, model: sql`nullif(used.model, '')` },
  tier: { tier: sql`split_part(used.tier, '@', 1)` },
  service_tier: {
    serviceTier: sql`coalesce(nullif(split_part(used.tier, '@', 2), ''), 'default')`,
  },
};

/** Charges by group: by day where they are grouped by it, then the dearest first. */
export async function summariseUsage(
  db: Db,
  { project, since, until, by = USUAL_GROUPS }: UsageQuery,
): Promise<UsageSummary[]> {
  const groups = by.flatMap((group) => Object.entries(GROUP_COLUMNS[group]));
  const columns = groups.map(([name, value]) => sql`${value} AS ${sql.ref(name)}`);
  const from = since === undefined ? startOf("month") : sql`${since}::timestamptz`;
  const to = until === undefined ? sql`'infinity'::timestamptz` : sql`${until}::timestamptz`;
  const { rows } = await sql<UsageSummary>`
    ${usedWithin(from, to)}
    SELECT ${sql.join([...columns, sql`sum(used.jobs)::int AS jobs`])},
      jsonb_strip_nulls(jsonb_build_object(${UNIT_SUMS})) AS units,
      ${inMicroUsd(sql`sum(used.amount_nano_usd)`)} AS "chargedMicroUsd",
      sum(used.amount_nano_usd)::bigint AS "chargedNanoUsd", sum(used.gpu_ms)::bigint AS "gpuMs"
    FROM used JOIN projects ON projects.id = used.project_id
      LEFT JOIN api_keys ON api_keys.id = used.api_key_id
    WHERE ${project === undefined ? sql`true` : isProject(project)}
    ${groups.length === 0 ? sql`HAVING count(*) > 0` : sql`GROUP BY ${sql.join(groups.map(([, value]) => value))}`}
    ORDER BY ${sql.join([
      ...groups.flatMap(([name, value]) => (name === "day" ? [value] : [])),
      sql`sum(used.amount_nano_usd) DESC`,
      ...groups.map(([, value]) => value),
    ])}`.execute(db);
  return rows;
}

/**
 * `used`: what was charged from one moment to another, as sums of whole days and hours where there are
 * such, and as the charges of the hours that the two cut, and of the time that is not summed yet.
 */
function usedWithin(since: Sql, until: Sql): Sql {
  const units = sql.join(UNIT_NAMES.map(unitColumn));
  const sumsOf = (
    table: "usage_days" | "usage_hours",
    at: "day" | "hour",
    { from, to }: { readonly from: string; readonly to: string },
  ) => sql`
    SELECT ${sql.ref(at)} AS at, project_id, api_key_id, modality, model, tier, jobs, amount_nano_usd,
      gpu_ms, ${units}
    FROM ${sql.ref(table)}
    WHERE ${sql.ref(at)} >= (SELECT ${sql.ref(from)} FROM bounds)
      AND ${sql.ref(at)} < (SELECT ${sql.ref(to)} FROM bounds)`;
  const chargesOf = (from: Sql, to: Sql) => sql`
    SELECT charges.created_at AS at, ${CHARGE_GROUP}, 1 AS jobs, ${CHARGE_SUMS}
    FROM ${CHARGES_WITH_JOBS}
    WHERE charges.created_at >= (SELECT ${from} FROM bounds)
      AND charges.created_at < (SELECT ${to} FROM bounds)`;
  return sql`WITH asked AS (
      SELECT ${since} AS since, ${until} AS until
    ), whole AS (
      SELECT since, until, ${startOf("hour", sql`(since + interval '1 hour' - interval '1 microsecond')`)} AS first_hour,
        ${startOf("hour", sql`until`)} AS end_hour,
        ${startOf("day", sql`(since + interval '1 day' - interval '1 microsecond')`)} AS first_day,
        ${startOf("day", sql`until`)} AS end_day FROM asked
    ), bounds AS MATERIALIZED (
      SELECT since, until, first_hour, end_hour, first_day, end_day,
        least(first_day, end_hour) AS before_days, greatest(first_day, end_day) AS after_days,
        least(first_hour, until) AS summed_from,
        greatest(first_hour, least(end_hour, ${ROLLED_UNTIL})) AS summed_until FROM whole
    ), used AS (
      ${sumsOf("usage_days", "day", { from: "first_day", to: "end_day" })}
      UNION ALL ${sumsOf("usage_hours", "hour", { from: "first_hour", to: "before_days" })}
      UNION ALL ${sumsOf("usage_hours", "hour", { from: "after_days", to: "end_hour" })}
      UNION ALL ${chargesOf(sql`since`, sql`summed_from`)}
      UNION ALL ${chargesOf(sql`summed_until`, sql`until`)}
    )`;
}

type Cell = string | number;

const FIRST_COLUMNS =
  "day project_id project key_id key modality model tier service_tier jobs".split(" ");
const LAST_COLUMNS = ["worker_seconds", "charged_usd"];

/** Usage as comma-separated values (RFC 4180) with a heading; dollars are exact. */
export function usageCsv(usage: readonly UsageSummary[]): string {
  const heading = [...FIRST_COLUMNS, ...UNIT_NAMES.map(toSnakeCase), ...LAST_COLUMNS];
  const rows = usage.map((line): Cell[] => [
    line.day ?? "",
    line.projectId ?? "",
    line.project ?? "",
    line.keyId ?? "",
    line.key ?? "",
    line.modality ?? "",
    line.model ?? "",
    line.tier ?? "",
    line.serviceTier ?? "",
    line.jobs,
    ...UNIT_NAMES.map((name) => line.units[name] ?? 0),
    line.gpuMs / 1_000,
    exactUsd(line.chargedNanoUsd),
  ]);
  return toCsv([heading, ...rows]);
}

/** One row an invoice. */
export function invoicesCsv({ month, isClosed, invoices }: MonthlyInvoices): string {
  const heading = ["month", "closed", "project_id", "project", "jobs", "charged_usd", "amount_usd"];
  const rows = invoices.map((invoice): Cell[] => [
    month,
    String(isClosed),
    invoice.projectId,
    invoice.project,
    invoice.lines.reduce((sum, { jobs }) => sum + jobs, 0),
    exactUsd(invoice.chargedNanoUsd),
    (invoice.amountCents / 100).toFixed(2),
  ]);
  return toCsv([heading, ...rows]);
}

/** Dollars of nano-dollars with all nine decimals, which a float would not have. */
export function exactUsd(nanoUsd: number): string {
  const digits = String(Math.abs(nanoUsd)).padStart(10, "0");
  return `${nanoUsd < 0 ? "-" : ""}${digits.slice(0, -9)}.${digits.slice(-9)}`;
}

export function toCsv(rows: readonly (readonly Cell[])[]): string {
  return rows.map((row) => `${row.map(quoteCell).join(",")}\r\n`).join("");
}

function quoteCell(cell: Cell): string {
  const text = String(cell);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

function toSnakeCase(name: string): string {
  return name.replaceAll(/[A-Z]/g, (capital) => `_${capital.toLowerCase()}`);
}

/** What one project owes for a month. */
interface Invoice {
  readonly projectId: string;
  readonly project: string;
  /** By model, tier and service tier, exact. */
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
  /** Id or name; all by default. */
  readonly project?: string;
}

const NANO_USD_PER_CENT = 10_000_000;

/** What every project, or one, owes for a month, the dearest first. */
export async function readInvoices(
  db: Db,
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
