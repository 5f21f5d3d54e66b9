import {
  type Db,
  type Sql,
  sql,
  inMicroUsd,
  isoTime,
  isProject,
  nanoUsdOf,
  insertRetry,
  reserveSpending,
} from "../ledger/index.js";
import { JobError } from "../../core/errors.js";
import type { JobFailure, JobState } from "../../core/job.js";
import type { Prices, Units } from "../../core/usage.js";

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
  /** `completed`, `preempted`, a failure's code, or null while it has no end. */
  readonly outcome: string | null;
  readonly gpuMs: number;
  readonly startedAt: string;
  readonly endedAt: string | null;
}

export interface JobDetail extends JobSummary {
  readonly apiKeyId: string;
  readonly failure: JobFailure | null;
  readonly runs: readonly AttemptSummary[];
  /** Whether it waits in the ledger for the fair queue. */
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
export async function listJobSummaries(db: Db, query: JobsQuery): Promise<JobSummary[]> {
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
  const page = sql`${sql.join(conditions, " AND ")} ORDER BY jobs.seq DESC LIMIT ${query.limit}`;
  return (await selectSummaries(page).execute(db)).rows;
}

/** Throws `not_found`. */
export async function getJobDetail(db: Db, id: string): Promise<JobDetail> {
  const [job, runs] = await Promise.all([
    selectSummaries<Omit<JobDetail, "runs">>(sql`jobs.id = ${id}`, DETAILS).execute(db),
    sql<AttemptSummary>`SELECT token, worker_id AS "workerId", outcome, gpu_ms AS "gpuMs",
        ${isoTime(sql`started_at`)} AS "startedAt", ${isoTime(sql`ended_at`)} AS "endedAt"
      FROM attempts WHERE job_id = ${id} ORDER BY token`.execute(db),
  ]);
  const [found] = job.rows;
  if (found === undefined) throw unknownJob(id);
  return { ...found, runs: runs.rows };
}

function unknownJob(id: string): JobError {
  return new JobError("not_found", `no job has the id ${id}`);
}

async function seqOf(db: Db, id: string): Promise<number> {
  const { rows } = await sql<{ seq: number }>`SELECT seq FROM jobs WHERE id = ${id}`.execute(db);
  if (rows[0] === undefined) throw unknownJob(id);
  return rows[0].seq;
}

const DETAILS = sql`, jobs.api_key_id AS "apiKeyId", jobs.failure,
  jobs.state = 'queued' AND jobs.released_at IS NULL AS "waitsForTurn",
  ${isoTime(sql`jobs.deadline_at`)} AS "deadlineAt",
  ${isoTime(sql`jobs.expires_at`)} AS "expiresAt"`;

/** `more`: further columns, each behind a comma. */
function selectSummaries<Row extends JobSummary = JobSummary>(
  restriction: Sql,
  more = sql``,
): Sql<Row> {
  return sql<Row>`
    SELECT jobs.id, jobs.project_id AS "projectId", projects.name AS project, jobs.modality,
      jobs.model, jobs.tier, jobs.state, jobs.progress,
      CASE WHEN jobs.state = 'in_progress' AND jobs.worker_id IS NOT NULL THEN jobs.stage END AS stage,
      jobs.attempts, jobs.crashes, jobs.preemptions, jobs.worker_id AS "workerId", jobs.prices,
      coalesce(charges.counted_units, jobs.quoted_units) AS units,
      ${inMicroUsd(nanoUsdOf("jobs"))} AS "quotedMicroUsd",
      coalesce(${inMicroUsd(nanoUsdOf("charges"))}, CASE WHEN jobs.ended_at IS NOT NULL THEN 0 END)
        AS "chargedMicroUsd",
      (SELECT coalesce(sum(gpu_ms), 0)::bigint FROM attempts
        WHERE attempts.job_id = jobs.id) AS "gpuMs",
      jobs.failure->>'code' AS "failureCode", ${isoTime(sql`jobs.created_at`)} AS "createdAt",
      ${isoTime(sql`jobs.started_at`)} AS "startedAt",
      ${isoTime(sql`jobs.ended_at`)} AS "endedAt"${more}
    FROM jobs JOIN projects ON projects.id = jobs.project_id
      LEFT JOIN charges ON charges.job_id = jobs.id
    WHERE ${restriction}`;
}

/** The job that does over what a failed one did not. */
export interface RetriedJob {
  readonly id: string;
  /** The failed one, which stays as it is. */
  readonly retryOf: string;
}

interface Failed {
  readonly state: string;
  readonly project_id: string;
  readonly monthly_limit_micro_usd: number | null;
  readonly amount_nano_usd: number;
  readonly is_waited_for: boolean;
  readonly has_files: boolean;
  readonly is_deleted: boolean;
}

/**
 * Accepts a failed job's request again, as a job of its own: an end state is final, its webhook was
 * sent, its charge is nothing. The new job has the old one's key, prices and quote, is charged when it
 * completes like any other, and waits in the ledger for the fair queue. Throws `invalid_value` for
 * what cannot be done over and `insufficient_quota` where the project's limit does not cover it.
 */
export async function retryJob(
  db: Db,
  id: string,
  randomBytes: (byteLength: number) => Uint8Array,
): Promise<RetriedJob> {
  const newId = `${id.replace(/_[^_]*$/, "")}_${Buffer.from(randomBytes(16)).toString("hex")}`;
  return await db.transaction(async (trx) => {
    const failed = await findFailed(trx, id);
    const project = {
      id: failed.project_id,
      monthlyLimitMicroUsd: failed.monthly_limit_micro_usd,
    };
    await reserveSpending(trx, project, failed.amount_nano_usd);
    await insertRetry(trx, { jobId: id, newId });
    return { id: newId, retryOf: id };
  });
}

/** A failed job that can be done over. */
async function findFailed(db: Db, id: string): Promise<Failed> {
  const { rows } = await sql<Failed>`
    SELECT state, project_id, monthly_limit_micro_usd, ${nanoUsdOf("jobs")} AS amount_nano_usd,
      report_to IS NOT NULL AS is_waited_for,
      (request_file IS NOT NULL AND request_file <> 'null'::jsonb)
        OR strpos(request::text, jobs.id || '/') > 0 AS has_files,
      deleted_at IS NOT NULL AS is_deleted
    FROM jobs JOIN projects ON projects.id = jobs.project_id WHERE jobs.id = ${id}`.execute(db);
  const [job] = rows;
  if (job === undefined || job.is_deleted) throw unknownJob(id);
  if (job.state !== "failed")
    throw new JobError(
      "invalid_value",
      `only a failed job can be done over, ${id} is ${job.state}`,
    );
  if (job.is_waited_for)
    throw new JobError(
      "invalid_value",
      `the caller who waited for ${id} has gone: nobody would get it`,
    );
  if (job.has_files)
    throw new JobError(
      "invalid_value",
      `the files sent with ${id} went when it failed: send it again`,
    );
  return job;
}
