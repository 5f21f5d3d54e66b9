import { sql, type Kysely, type RawBuilder } from "kysely";
import { nanoUsdOf } from "./amounts.js";
import type { JobRecord } from "./job-record.js";
import type { Tables } from "./database/tables.js";

export interface JobScope {
  readonly projectId: string;
  readonly modality: string;
}

export interface JobPage {
  readonly limit: number;
  readonly order: "asc" | "desc";
  /** Sequence number of the last job of the page before. */
  readonly afterSeq?: number;
}

/** A foreign job is as unknown as one that never was. */
export async function findJob(
  db: Kysely<Tables>,
  scope: JobScope,
  id: string,
): Promise<JobRecord | undefined> {
  const { rows } = await selectJobs(scope, sql`AND j.id = ${id}`).execute(db);
  return rows[0];
}

export async function listJobs(
  db: Kysely<Tables>,
  scope: JobScope,
  { limit, order, afterSeq }: JobPage,
): Promise<JobRecord[]> {
  const compare = sql.raw(order === "asc" ? ">" : "<");
  const after = afterSeq === undefined ? sql`` : sql`AND j.seq ${compare} ${afterSeq}`;
  const page = sql`${after} ORDER BY j.seq ${sql.raw(order)} LIMIT ${limit}`;
  return (await selectJobs(scope, page).execute(db)).rows;
}

function selectJobs(
  { projectId, modality }: JobScope,
  restriction: RawBuilder<unknown>,
): RawBuilder<JobRecord> {
  return sql<JobRecord>`
    SELECT j.seq, j.id, j.modality, j.model, j.request, j.state, j.progress, j.stage, j.tier,
      j.prices, j.quoted_units, j.work, ${nanoUsdOf("j")} AS amount_nano_usd, j.failure, j.artifacts, j.usage,
      j.output, j.kept, j.created_at, j.started_at, j.ended_at, j.expires_at, ahead.jobs_ahead,
      ahead.work_ahead,
      (j.files_removed OR coalesce(j.expires_at <= now(), false)) AS expired,
      extract(epoch FROM now() - j.started_at)::double precision AS running_seconds,
      ${nanoUsdOf("charges")} AS charged_nano_usd
    FROM jobs j
    LEFT JOIN charges ON charges.job_id = j.id
    LEFT JOIN LATERAL (
      SELECT count(*)::int AS jobs_ahead, coalesce(sum(q.work), 0) AS work_ahead FROM jobs q
      WHERE j.state = 'queued' AND q.state = 'queued' AND q.modality = j.modality
        AND q.model = j.model AND q.seq < j.seq
    ) ahead ON true
    WHERE j.project_id = ${projectId} AND j.modality = ${modality} AND j.deleted_at IS NULL
      ${restriction}`;
}
