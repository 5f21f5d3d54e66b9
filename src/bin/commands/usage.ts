import type { Config } from "../../config.js";
import type { UsageQuery, UsageSummary } from "../../front/usage-summaries.js";
import { formatUsd } from "./money.js";
import { withOperations } from "./operations.js";
import { printJson, printTable } from "./table.js";

export async function listUsage(
  { json = false, ...query }: UsageQuery & { readonly json?: boolean },
  config: Config,
): Promise<void> {
  const usage = await withOperations(config, (operations) => operations.summariseUsage(query));
  if (json) return printJson(usage);
  const total = usage.reduce((sum, { chargedMicroUsd }) => sum + chargedMicroUsd, 0);
  printTable(usage.map(toRow), "nothing was charged");
  if (usage.length > 1) process.stdout.write(`\ntogether ${formatUsd(total)}\n`);
}

function toRow(usage: UsageSummary): Record<string, string | number> {
  const units = Object.entries(usage.units).map(([unit, count]) => `${round(count)} ${unit}`);
  return {
    project: usage.project ?? "",
    model: usage.model ?? "(not noted)",
    jobs: usage.jobs,
    units: units.join(", "),
    "worker hours": (usage.gpuMs / 3_600_000).toFixed(3),
    charged: formatUsd(usage.chargedMicroUsd),
  };
}

function round(count: number): number {
  return Number(count.toFixed(3));
}
