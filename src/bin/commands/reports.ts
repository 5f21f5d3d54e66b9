import type { Config } from "../../config.js";
import {
  invoicesCsv,
  type Margin,
  marginsCsv,
  type MonthlyInvoices,
  usageCsv,
  type UsageQuery,
  type UsageSummary,
} from "../../front/operations/index.js";
import type { ActionsQuery, RecordedAction } from "../../front/ledger/index.js";
import { formatNanoUsd, printJson, printTable } from "./table.js";
import { withOperations } from "./operations.js";

interface UsageOptions extends UsageQuery {
  /** Invoices of a month, in the place of usage. */
  readonly month?: string;
  /** Margins, in the place of usage. */
  readonly cost?: boolean;
  readonly json?: boolean;
  readonly csv?: boolean;
}

export async function listUsage(
  { json = false, csv = false, cost = false, month, ...query }: UsageOptions,
  config: Config,
): Promise<void> {
  await withOperations(config, async (operations) => {
    if (month !== undefined) {
      const { project } = query;
      const asked = project === undefined ? { month } : { month, project };
      const invoices = await operations.readInvoices(asked);
      if (csv) process.stdout.write(invoicesCsv(invoices));
      else if (json) printJson(invoices);
      else printInvoices(invoices);
      return;
    }
    if (cost) {
      const margins = await operations.readMargins(query);
      if (csv) process.stdout.write(marginsCsv(margins));
      else if (json) printJson(margins);
      else printMargins(margins);
      return;
    }
    const usage = await operations.summariseUsage(query);
    if (csv) process.stdout.write(usageCsv(usage));
    else if (json) printJson(usage);
    else printUsage(usage);
  });
}

function printUsage(usage: readonly UsageSummary[]): void {
  const total = usage.reduce((sum, { chargedNanoUsd }) => sum + chargedNanoUsd, 0);
  printTable(usage.map(usageRow), "nothing was charged");
  if (usage.length > 1) process.stdout.write(`\ntogether ${formatNanoUsd(total)}\n`);
}

function printMargins(margins: readonly Margin[]): void {
  printTable(margins.map(marginRow), "nothing was charged, and no worker's time was counted");
  if (margins.length < 2) return;
  const sum = (name: "chargedNanoUsd" | "gpuNanoUsd" | "marginNanoUsd") =>
    formatNanoUsd(margins.reduce((total, margin) => total + margin[name], 0));
  process.stdout.write(
    `\ntogether charged ${sum("chargedNanoUsd")}, cost ${sum("gpuNanoUsd")}, margin ${sum("marginNanoUsd")}\n`,
  );
}

function marginRow(margin: Margin): Record<string, string | number> {
  const { day, project, projectId, model, tier, serviceTier } = margin;
  return {
    ...(day !== undefined && { day }),
    ...(projectId !== undefined && { project: project ?? projectId ?? "(unused)" }),
    ...(model !== undefined && { model: model ?? "(unused)" }),
    ...(tier !== undefined && { tier: tier ?? "" }),
    ...(serviceTier !== undefined && { "service tier": serviceTier ?? "" }),
    charged: formatNanoUsd(margin.chargedNanoUsd),
    worked: formatNanoUsd(margin.workedNanoUsd),
    lost: formatNanoUsd(margin.lostNanoUsd),
    starting: formatNanoUsd(margin.startingNanoUsd),
    idle: formatNanoUsd(margin.idleNanoUsd),
    cost: formatNanoUsd(margin.gpuNanoUsd),
    margin: formatNanoUsd(margin.marginNanoUsd),
  };
}

function usageRow(usage: UsageSummary): Record<string, string | number> {
  const { day, project, projectId, keyId, key, model, tier, serviceTier } = usage;
  const units = Object.entries(usage.units).map(([unit, count]) => `${round(count)} ${unit}`);
  return {
    ...(day !== undefined && { day }),
    ...(projectId !== undefined && { project: project ?? projectId }),
    ...(keyId !== undefined && { key: key ?? keyId ?? "(not noted)" }),
    ...(model !== undefined && { model: model ?? "(not noted)" }),
    ...(tier !== undefined && { tier }),
    ...(serviceTier !== undefined && { "service tier": serviceTier }),
    jobs: usage.jobs,
    units: units.join(", "),
    "worker hours": (usage.gpuMs / 3_600_000).toFixed(3),
    charged: formatNanoUsd(usage.chargedNanoUsd),
  };
}

function printInvoices({ month, isClosed, invoices, amountCents }: MonthlyInvoices): void {
  const rows = invoices.map(
    ({ projectId, project, lines, chargedNanoUsd, amountCents: cents }) => ({
      id: projectId,
      project,
      jobs: lines.reduce((sum, { jobs }) => sum + jobs, 0),
      charged: formatNanoUsd(chargedNanoUsd),
      amount: `$${(cents / 100).toFixed(2)}`,
    }),
  );
  printTable(rows, "nothing was charged");
  const state = isClosed ? "closed" : "not closed: its charges are not all made or summed yet";
  process.stdout.write(`\n${month} together $${(amountCents / 100).toFixed(2)}, ${state}\n`);
}

function round(count: number): number {
  return Number(count.toFixed(3));
}

export async function listAudit(
  { json = false, ...query }: ActionsQuery & { readonly json?: boolean },
  config: Config,
): Promise<void> {
  const actions = await withOperations(config, (operations) => operations.listActions(query));
  if (json) printJson(actions);
  else printTable(actions.map(actionRow), "nothing was changed");
}

function actionRow({ at, actor, address, action, target, detail, outcome }: RecordedAction) {
  const more = Object.entries(detail).map(([name, value]) => `${name}=${JSON.stringify(value)}`);
  return {
    at,
    actor,
    from: address ?? "",
    action,
    target: target ?? "",
    detail: more.join(" "),
    outcome,
  };
}
