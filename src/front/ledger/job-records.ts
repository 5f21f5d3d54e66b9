import { type Db, type Sql, sql } from "./database/sql.js";
import type { Artifact } from "../../core/artifact.js";
import type { JobFailure, JobState } from "../../core/job.js";
import { SERVICE_TIERS, type ServiceTier } from "../../core/service-tier.js";
import type { Prices, Units, Usage } from "../../core/usage.js";
import { listModalities } from "../../modalities/registry.js";
import { nanoUsdOf } from "./usage-rollup.js";

/** Has not ended. */
export const OPEN = sql`state IN ('queued', 'in_progress')`;
/** Of jobs: how many run. */
export const RUNNING_COUNT = sql`count(*) FILTER (WHERE state = 'in_progress')::int`;
/** Of jobs: for how many seconds the oldest queued one has waited; null where none waits. */
export const OLDEST_SECONDS = sql`extract(epoch FROM
  now() - min(created_at) FILTER (WHERE state = 'queued'))::double precision`;
/** Of a failed job: its caller ended it. */
export const CANCELLED = sql`failure ->> 'code' = 'cancelled'`;

/** One job as its project sees it, read in one statement. */
export interface JobRecord {
  readonly seq: number;
  readonly id: string;
  readonly modality: string;
  readonly model: string;
  readonly request: unknown;
  readonly state: JobState;
  readonly progress: number;
  readonly stage: string | null;
  readonly tier: string;
  readonly service_tier: ServiceTier;
  readonly prices: Prices;
  readonly quoted_units: Units;
  readonly work: number;
  readonly amount_nano_usd: number;
  readonly failure: JobFailure | null;
  readonly artifacts: readonly Artifact[];
  readonly usage: Usage | null;
  readonly output: unknown;
  /** Read again after its answer: polled and stored jobs. */
  readonly kept: boolean;
  /** Whether a caller waited for it. */
  readonly is_awaited: boolean;
  readonly created_at: Date;
  readonly started_at: Date | null;
  readonly ended_at: Date | null;
  readonly expires_at: Date | null;
  /** The download period is over, by the database's clock. */
  readonly expired: boolean;
  /** Seconds since the first attempt began. */
  readonly running_seconds: number | null;
  /** Queued jobs of the same model that go before this one, and their work. */
  readonly jobs_ahead: number | null;
  readonly work_ahead: number | null;
  /** Null where nothing was charged. */
  readonly charged_nano_usd: number | null;
}

/** What a caller who waited is answered from. */
export type AnsweredJob = Pick<
  JobRecord,
  "id" | "state" | "failure" | "artifacts" | "usage" | "output" | "ended_at" | "expired"
>;

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
export async function findJob(db: Db, scope: JobScope, id: string): Promise<JobRecord | undefined> {
  const { rows } = await selectJobs(scope, sql`AND j.id = ${id}`).execute(db);
  return rows[0];
}

export async function listJobs(
  db: Db,
  scope: JobScope,
  { limit, order, afterSeq }: JobPage,
): Promise<JobRecord[]> {
  const compare = sql.raw(order === "asc" ? ">" : "<");
  const after = afterSeq === undefined ? sql`` : sql`AND j.seq ${compare} ${afterSeq}`;
  const page = sql`${after} ORDER BY j.seq ${sql.raw(order)} LIMIT ${limit}`;
  return (await selectJobs(scope, page).execute(db)).rows;
}

function selectJobs({ projectId, modality }: JobScope, restriction: Sql): Sql<JobRecord> {
  return sql<JobRecord>`
    SELECT j.seq, j.id, j.modality, j.model, j.request, j.state, j.progress, j.stage, j.tier,
      j.service_tier, j.prices, j.quoted_units, j.work, ${nanoUsdOf("j")} AS amount_nano_usd, j.failure, j.artifacts, j.usage,
      j.output, j.kept, j.report_to IS NOT NULL AS is_awaited, j.created_at, j.started_at, j.ended_at, j.expires_at, ahead.jobs_ahead,
      ahead.work_ahead,
      (j.files_removed OR coalesce(j.expires_at <= now(), false)) AS expired,
      extract(epoch FROM now() - j.started_at)::double precision AS running_seconds,
      ${nanoUsdOf("charges")} AS charged_nano_usd
    FROM jobs j
    LEFT JOIN charges ON charges.job_id = j.id
    LEFT JOIN LATERAL (
      SELECT count(*)::int AS jobs_ahead, coalesce(sum(work), 0) AS work_ahead FROM (
        SELECT q.work FROM jobs q WHERE j.state = 'queued' AND q.state = 'queued'
          AND q.modality = j.modality AND q.model = j.model AND q.service_tier = j.service_tier
          AND q.seq < j.seq
        UNION ALL
        SELECT q.work FROM jobs q WHERE j.state = 'queued' AND j.service_tier <> ${sql.lit(SERVICE_TIERS[0])}
          AND q.state = 'queued' AND q.modality = j.modality AND q.model = j.model
          AND ${rankOf(sql`q.service_tier`)} < ${rankOf(sql`j.service_tier`)}
      ) before
    ) ahead ON true
    WHERE j.project_id = ${projectId} AND j.modality = ${modality} AND j.deleted_at IS NULL
      ${restriction}`;
}

/** Jobs of a lower one are taken first. */
export function rankOf(serviceTier: Sql): Sql {
  return sql`array_position(${sql.lit(`{${SERVICE_TIERS.join(",")}}`)}::text[], ${serviceTier})`;
}

/**
 * Jobs that ended from one time on and before another, as a subquery: in two parts, since each has an
 * index by its end. The free jobs of the service's own count as well.
 */
export function endedJobs(since: Sql, until: Sql = sql`'infinity'`): Sql {
  const names = sql.join(listModalities().map(({ name }) => sql.lit(name)));
  const within = sql`ended_at >= ${since} AND ended_at < ${until}`;
  return sql`(SELECT * FROM jobs WHERE NOT kept AND ${within}
    UNION ALL SELECT * FROM jobs WHERE kept AND modality IN (${names}) AND ${within})`;
}
