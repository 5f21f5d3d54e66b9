import { sql, type Kysely } from "kysely";
import type { CompletionReport } from "../../core/reports.js";
import { toMicroUsd } from "./amounts.js";
import type { AnsweredJob } from "./job-record.js";
import { NOT_ENDED, notify } from "./job-moves.js";
import type { CompletedRun } from "./paces.js";
import type { Tables } from "./database/tables.js";

export interface Completion {
  readonly report: CompletionReport;
  /** The quote's prices times the usage. */
  readonly amountNanoUsd: number;
  /** Whether the replica that records it has the caller: nobody else needs to be told. */
  readonly isAwaited: boolean;
}

/** A job as it is now that it has ended, and what it took. */
export type CompletedJob = AnsweredJob & CompletedRun;

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
  // Named apart as well, or a plan of a small table joins all of it.
  const ids = completions.map(({ report }) => report.jobId);
  const { rows } = await sql<CompletedJob & { readonly token: number }>`
    WITH report AS (
      SELECT * FROM jsonb_to_recordset(${JSON.stringify(completions.map(toRow))}::jsonb) AS report
        (job_id text, token int, artifacts jsonb, usage jsonb, output jsonb, units jsonb,
          amount bigint, gpu_ms bigint, is_awaited boolean)
    ), done AS (
      UPDATE jobs SET state = 'completed', progress = 100, failure = NULL, lease_until = NULL,
        worker_id = NULL, ended_at = now(), has_leftovers = jobs.token > 1,
        expires_at = now() + (CASE WHEN kept THEN interval '24 hours' ELSE interval '1 hour' END),
        artifacts = report.artifacts, usage = report.usage,
        output = coalesce(report.output, 'null'::jsonb)
      FROM report
      WHERE id = ANY(${ids}::text[]) AND id = job_id AND jobs.token = report.token AND state <> 'queued'
        AND ${NOT_ENDED}
      RETURNING id, jobs.token, state, failure, jobs.artifacts, jobs.usage, jobs.output, ended_at, kept,
        project_id, api_key_id, modality, model, tier, work, prices, job_id, units, amount,
        gpu_ms, is_awaited
    ), charged AS (
      INSERT INTO charges (job_id, project_id, api_key_id, modality, model, tier, prices,
        counted_units, amount_nano_usd, amount_micro_usd, gpu_ms)
      SELECT id, project_id, api_key_id, modality, model, tier, prices, units, amount,
        ${toMicroUsd(sql`amount`)}, gpu_ms FROM done
    ), noted AS (
      UPDATE attempts SET outcome = 'completed', gpu_ms = report.gpu_ms, ended_at = now()
      FROM report
      WHERE attempts.job_id = ANY(${ids}::text[]) AND attempts.job_id = report.job_id
        AND attempts.token = report.token AND outcome IS NULL
      RETURNING attempts.job_id AS of_job,
        extract(epoch FROM now() - started_at)::double precision AS lasted_seconds
    )
    SELECT id, token, state, failure, artifacts, usage, output, ended_at, false AS expired,
      modality, model, tier, work, gpu_ms, lasted_seconds,
      CASE WHEN kept OR NOT is_awaited THEN ${notify(sql`id`)} END
    FROM done LEFT JOIN noted ON of_job = id`.execute(db);
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
