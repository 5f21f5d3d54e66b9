import type { Kysely } from "kysely";
import type { CompletionReport } from "../../core/reports.js";
import type { Tables } from "./database/tables.js";
import type { AnsweredJob } from "./job-records.js";
import type { CompletedRun } from "./paces.js";
import { readStatement } from "./statements.js";

export interface Completion {
  readonly report: CompletionReport;
  /** The quote's prices times the usage. */
  readonly amountNanoUsd: number;
  /** Whether the replica that records it has the caller: nobody else needs to be told. */
  readonly isAwaited: boolean;
}

/** A job as it is now that it has ended, and what it took. */
export type CompletedJob = AnsweredJob & CompletedRun;

const complete = readStatement<
  { readonly jobIds: readonly string[]; readonly reports: string },
  CompletedJob & { readonly token: number }
>("complete");

/**
 * End state, charge and attempt of each job in one statement. Resolves to the jobs as they are now; null
 * where the token had lost the job. The same report twice is recorded once and answered twice.
 */
export async function completeJobs(
  db: Kysely<Tables>,
  completions: readonly Completion[],
): Promise<(CompletedJob | null)[]> {
  const unique = new Map(completions.map((completion) => [keyOf(completion), completion]));
  const ended = await completeEach(db, [...unique.values()]);
  return completions.map((completion) => ended.get(keyOf(completion)) ?? null);
}

function keyOf({ report: { jobId, token } }: Completion): string {
  return `${jobId}/${token}`;
}

/** Different attempts, at most one of which holds its job; those that did, by key. */
async function completeEach(
  db: Kysely<Tables>,
  completions: readonly Completion[],
): Promise<Map<string, CompletedJob>> {
  const rows = await complete(db, {
    jobIds: completions.map(({ report }) => report.jobId),
    reports: JSON.stringify(completions.map(toRow)),
  });
  return new Map(rows.map(({ token, ...job }) => [`${job.id}/${token}`, job]));
}

function toRow({ report, isAwaited, amountNanoUsd }: Completion) {
  const { gpuMs, ...units } = report.usage;
  return {
    job_id: report.jobId,
    token: report.token,
    artifacts: report.artifacts,
    usage: report.usage,
    output: report.output ?? null,
    units,
    amount: amountNanoUsd,
    gpu_ms: Math.round(gpuMs),
    is_awaited: isAwaited,
  };
}
