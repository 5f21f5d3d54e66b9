import { UNIT_NAMES } from "../../core/usage.js";
import type { MonthlyInvoices } from "./invoices.js";
import type { UsageSummary } from "./usage-summaries.js";

type Cell = string | number;

const FIRST_COLUMNS = "day project_id project key_id key modality model tier jobs".split(" ");
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
function exactUsd(nanoUsd: number): string {
  const digits = String(nanoUsd).padStart(10, "0");
  return `${digits.slice(0, -9)}.${digits.slice(-9)}`;
}

function toCsv(rows: readonly (readonly Cell[])[]): string {
  return rows.map((row) => `${row.map(quoteCell).join(",")}\r\n`).join("");
}

function quoteCell(cell: Cell): string {
  const text = String(cell);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

function toSnakeCase(name: string): string {
  return name.replaceAll(/[A-Z]/g, (capital) => `_${capital.toLowerCase()}`);
}
