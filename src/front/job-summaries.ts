import { sql, type Kysely, type RawBuilder } from "kysely";
import { JobError } from "../core/errors.js";
import type { JobFailure, JobState } from "../core/job.js";
import type { Prices, Units } from "../core/usage.js";
import { isProject } from "./ledger.js";
import type { Tables } from "./tables.js";

/** A job as its operator sees it: no prompt, but attempts and money. */
export interface JobSummary {
  readonly id: string;
  readonly projectId: string;
  readonly project: string;
  readonly modality: string;
  readonly model: string;
  /** Row of the price table within the modality; empty where it has but one. */
  readonly tier: string;
  readonly state: JobState;
  /** 0 to 100. */
  readonly progress: number;
  /** What its worker does now; null while nobody holds it. */
  readonly stage: string | null;
  readonly attempts: number;
  readonly crashes: number;
  readonly preemptions: number;
  readonly workerId: string | null;
  readonly prices: Prices;
  /** Units it may use at most; those it used once it has completed. */
  readonly units: Units;
  readonly quotedMicroUsd: number;
  /** Null until the job has ended; 0 when it failed. */
  readonly chargedMicroUsd: number | null;
  /** Wall time of all attempts. */
  readonly gpuMs: number;
  readonly failureCode: string | null;
  readonly createdAt: string;
  readonly startedAt: string | null;
  readonly endedAt: string | null;
}

/** One run of a job on one worker. */
export interface AttemptSummary {
  /** Fencing token: counted from 1. */
  readonly token: number;
  readonly workerId: string;
  /** `completed`, `preempted`, a failure's code, or null where nothing was heard of its end. */
  readonly outcome: string | null;
  readonly gpuMs: number;
  readonly startedAt: string;
  readonly endedAt: string | null;
}

export interface JobDetail extends JobSummary {
  readonly apiKeyId: string;
  readonly failure: JobFailure | null;
  readonly runs: readonly AttemptSummary[];
  /** Whether it waits in the ledger for its project's turn. */
  readonly waitsForTurn: boolean;
  /** ISO 8601: it must not start after this. */
  readonly deadlineAt: string;
  /** ISO 8601: end of the download period. */
  readonly expiresAt: string | null;
}

/** Which jobs to list, newest first. */
export interface JobsQuery {
  readonly limit: number;
  /** Id of the last job of the page before. */
  readonly after?: string;
  readonly state?: JobState;
  readonly modality?: string;
  readonly model?: string;
  /** Id or name. */
  readonly project?: string;
  /** ISO 8601: accepted then or later. */
  readonly since?: string;
}

/** A page that is shorter than its limit is the last. Throws `not_found` where `after` is no job. */
export async function listJobSummaries(
  db: Kysely<Tables>,
  query: JobsQuery,
): Promise<JobSummary[]> {
  const { after, state, modality, model, project, since } = query;
  const conditions = [
    sql`jobs.deleted_at IS NULL`,
    ...(after === undefined ? [] : [sql`jobs.seq < ${await seqOf(db, after)}`]),
    ...(state === undefined ? [] : [sql`jobs.state = ${state}`]),
    ...(modality === undefined ? [] : [sql`jobs.modality = ${modality}`]),
    ...(model === undefined ? [] : [sql`jobs.model = ${model}`]),
    ...(project === undefined ? [] : [isProject(project)]),
    ...(since === undefined ? [] : [sql`jobs.created_at >= ${since}::timestamptz`]),
  ];
  const page = sql`${sql.join(conditions, sql` AND `)} ORDER BY jobs.seq DESC LIMIT ${query.limit}`;
  return (await selectSummaries(page).execute(db)).rows.map(toSummary);
}

/** Throws `not_found`. */
export async function getJobDetail(db: Kysely<Tables>, id: string): Promise<JobDetail> {
  const [job, runs] = await Promise.all([
    selectSummaries(sql`jobs.id = ${id}`).execute(db),
    sql<RunRow>`SELECT token, worker_id, outcome, gpu_ms, started_at, ended_at FROM attempts
      WHERE job_id = ${id} ORDER BY token`.execute(db),
  ]);
  const [row] = job.rows;
  if (row === undefined) throw unknownJob(id);
  return {
    ...toSummary(row),
    apiKeyId: row.api_key_id,
    failure: row.failure,
    runs: runs.rows.map(toRun),
    waitsForTurn: row.state === "queued" && row.released_at === null,
    deadlineAt: row.deadline_at.toISOString(),
    expiresAt: row.expires_at?.toISOString() ?? null,
  };
}

export function unknownJob(id: string): JobError {
  return new JobError("not_found", `no job has the id ${id}`);
}

async function seqOf(db: Kysely<Tables>, id: string): Promise<number> {
  const row = await db.selectFrom("jobs").select("seq").where("id", "=", id).executeTakeFirst();
  if (row === undefined) throw unknownJob(id);
  return row.seq;
}

interface SummaryRow {
  readonly id: string;
  readonly project_id: string;
  readonly project: string;
  readonly api_key_id: string;
  readonly modality: string;
  readonly model: string;
  readonly tier: string;
  readonly state: JobState;
  readonly progress: number;
  readonly stage: string | null;
  readonly attempts: number;
  readonly crashes: number;
  readonly preemptions: number;
  readonly worker_id: string | null;
  readonly prices: Prices;
  readonly units: Units;
  readonly amount_micro_usd: number;
  readonly charged: number | null;
  readonly total_gpu_ms: number;
  readonly failure: JobFailure | null;
  readonly created_at: Date;
  readonly started_at: Date | null;
  readonly ended_at: Date | null;
  readonly released_at: Date | null;
  readonly deadline_at: Date;
  readonly expires_at: Date | null;
}

function selectSummaries(restriction: RawBuilder<unknown>): RawBuilder<SummaryRow> {
  return sql<SummaryRow>`
    SELECT jobs.id, jobs.project_id, projects.name AS project, jobs.api_key_id, jobs.modality,
      jobs.model, jobs.tier, jobs.state, jobs.progress, jobs.stage, jobs.attempts, jobs.crashes,
      jobs.preemptions, jobs.worker_id, jobs.prices,
      coalesce(charges.counted_units, jobs.quoted_units) AS units, jobs.amount_micro_usd,
      charges.amount_micro_usd AS charged,
      (SELECT coalesce(sum(gpu_ms), 0)::bigint FROM attempts
        WHERE attempts.job_id = jobs.id) AS total_gpu_ms,
      jobs.failure, jobs.created_at, jobs.started_at, jobs.ended_at, jobs.released_at,
      jobs.deadline_at, jobs.expires_at
    FROM jobs JOIN projects ON projects.id = jobs.project_id
      LEFT JOIN charges ON charges.job_id = jobs.id
    WHERE ${restriction}`;
}

function toSummary(row: SummaryRow): JobSummary {
  return {
    id: row.id,
    projectId: row.project_id,
    project: row.project,
    modality: row.modality,
    model: row.model,
    tier: row.tier,
    state: row.state,
    progress: row.progress,
    stage: row.state === "in_progress" && row.worker_id !== null ? row.stage : null,
    attempts: row.attempts,
    crashes: row.crashes,
    preemptions: row.preemptions,
    workerId: row.worker_id,
    prices: row.prices,
    units: row.units,
    quotedMicroUsd: row.amount_micro_usd,
    chargedMicroUsd: row.charged ?? (row.ended_at === null ? null : 0),
    gpuMs: row.total_gpu_ms,
    failureCode: row.failure?.code ?? null,
    createdAt: row.created_at.toISOString(),
    startedAt: row.started_at?.toISOString() ?? null,
    endedAt: row.ended_at?.toISOString() ?? null,
  };
}

interface RunRow {
  readonly token: number;
  readonly worker_id: string;
  readonly outcome: string | null;
  readonly gpu_ms: number;
  readonly started_at: Date;
  readonly ended_at: Date | null;
}

function toRun(row: RunRow): AttemptSummary {
  return {
    token: row.token,
    workerId: row.worker_id,
    outcome: row.outcome,
    gpuMs: row.gpu_ms,
    startedAt: row.started_at.toISOString(),
    endedAt: row.ended_at?.toISOString() ?? null,
  };
}
