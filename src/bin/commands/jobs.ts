import type { Config } from "../../config.js";
import { withOperations } from "./operations.js";
import { printJson, printTable } from "./table.js";

export async function listJobs(
  { limit, json }: { readonly limit: number; readonly json?: boolean },
  config: Config,
): Promise<void> {
  const jobs = await withOperations(config, (operations) => operations.listJobs({ limit }));
  if (json) return printJson(jobs);
  printTable(
    jobs.map((job) => ({
      id: job.id,
      model: job.model,
      state: job.failureCode ?? job.state,
      progress: `${job.progress}%`,
      attempts: job.attempts,
      quoted: toUsd(job.quotedMicroUsd),
      charged: job.chargedMicroUsd === null ? "" : toUsd(job.chargedMicroUsd),
      created: job.createdAt,
    })),
  );
}

function toUsd(microUsd: number): string {
  return `$${(microUsd / 1_000_000).toFixed(6)}`;
}
