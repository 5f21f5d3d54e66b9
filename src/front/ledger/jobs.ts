import { sql, type Kysely } from "kysely";
import type { JobFailure } from "../../core/job.js";
import type { FailureReport, LeaseRef, ReleaseReport, WorkerOrders } from "../../core/reports.js";
import { heldBy, inMs, notify, OPEN, UNLEASED } from "./job-moves.js";
import type { Tables } from "./database/tables.js";
import { isDraining } from "./workers.js";

/**
 * The state machine, with `claims.ts` and `completions.ts`. Every move is one statement that names the
 * state it leaves and, for workers, the fencing token; no row means the move was not theirs to make.
 * All times are the database's.
 */

export const LEASE_MS = 30_000;
/** The crash that ends a job. */
const MAX_CRASHES = 3;
/** Leases that may lapse in silence before the job is given up: a broker restart makes one each. */
export const MAX_LAPSES = 25;
export const RETRY_DELAYS_MS = [5_000, 30_000, 120_000] as const;
/** A retry publishes itself; the janitor steps in when it has not shown up by then. */
const RETRY_GRACE_MS = 180_000;

type Executor = Kysely<Tables>;

/** Milliseconds another worker still holds the job; undefined when nobody can run it any more. */
export async function findLiveLease(db: Executor, jobId: string): Promise<number | undefined> {
  const { rows } = await sql<{ ms: number }>`
    SELECT (extract(epoch FROM lease_until - now()) * 1000)::int AS ms FROM jobs
    WHERE id = ${jobId} AND ${OPEN} AND lease_until > now()`.execute(db);
  return rows[0]?.ms;
}

/** Milliseconds for which this very claim still has the job; undefined where it has not. */
export async function findOwnLease(db: Executor, lease: LeaseRef): Promise<number | undefined> {
  const { rows } = await sql<{ ms: number }>`
    SELECT (extract(epoch FROM lease_until - now()) * 1000)::int AS ms FROM jobs
    WHERE ${heldBy(lease)} AND lease_until > now()`.execute(db);
  return rows[0]?.ms;
}

/** What its worker is to do besides; undefined where the lease is not held. */
export async function renewLease(db: Executor, lease: LeaseRef): Promise<WorkerOrders | undefined> {
  const { rows } = await sql<WorkerOrders>`
    UPDATE jobs SET lease_until = ${inMs(LEASE_MS)}
    WHERE ${heldBy(lease)} AND lease_until IS NOT NULL
    RETURNING ${isDraining(sql`worker_id`)} AS drain`.execute(db);
  return rows[0];
}

/** Progress never falls, and stays below 100 until the file can be downloaded. */
export async function recordProgress(
  db: Executor,
  lease: LeaseRef,
  progress: { readonly percent: number; readonly stage: string },
): Promise<boolean> {
  const percent = Math.max(0, Math.min(99, Math.floor(progress.percent)));
  const { rows } = await sql`
    UPDATE jobs SET progress = greatest(progress, ${percent}::int), stage = ${progress.stage}::text
    WHERE ${heldBy(lease)} AND lease_until IS NOT NULL
    RETURNING ${notify(sql`id`)}`.execute(db);
  return rows.length === 1;
}

export interface FailedAttempt {
  readonly state: "in_progress" | "failed";
  readonly crashes: number;
  /** Attempts, this one included, that ended for want of a part. */
  readonly setbacks: number;
}

/** Another attempt, or the end: decided by the crashes counted before. */
export async function failAttempt(
  db: Executor,
  report: FailureReport,
  blamed: boolean,
): Promise<FailedAttempt | undefined> {
  const blame = blamed ? 1 : 0;
  const again = sql`(${report.retryable}::boolean AND crashes + ${blame}::int < ${MAX_CRASHES})`;
  const { rows } = await sql<FailedAttempt>`
    WITH failed AS (
      UPDATE jobs SET crashes = crashes + ${blame}::int, lease_until = NULL, worker_id = NULL,
        state = CASE WHEN ${again} THEN state ELSE 'failed' END,
        failure = CASE WHEN ${again} THEN NULL ELSE ${JSON.stringify(report.failure)}::jsonb END,
        ended_at = CASE WHEN ${again} THEN NULL ELSE now() END,
        republish_after = ${inMs(RETRY_GRACE_MS)}
      WHERE ${heldBy(report)} AND lease_until IS NOT NULL
      RETURNING id, state, crashes
    ), noted AS (
      ${endAttempt(report, report.failure.code, report.gpuMs)}
    )
    SELECT state, crashes, ${notify(sql`id`)}, ${countSetbacks(report.jobId)} + 1 AS setbacks
    FROM failed`.execute(db);
  return rows[0];
}

/** As it was before the statement. */
function countSetbacks(jobId: string) {
  return sql`(SELECT count(*)::int FROM attempts WHERE job_id = ${jobId}
    AND outcome IN ('worker_fault', 'store_unavailable'))`;
}

/** Gives the lease back without blame; the public state stays. */
export async function releaseJob(db: Executor, report: ReleaseReport): Promise<boolean> {
  const checkpoint = report.checkpoint === null ? null : JSON.stringify(report.checkpoint);
  const { rows } = await sql`
    WITH released AS (
      UPDATE jobs SET lease_until = NULL, worker_id = NULL, preemptions = preemptions + 1,
        checkpoint = coalesce(${checkpoint}::jsonb, checkpoint), republish_after = ${inMs(LEASE_MS)}
      WHERE ${heldBy(report)} AND lease_until IS NOT NULL
      RETURNING id
    ), noted AS (
      ${endAttempt(report, "preempted", report.gpuMs)}
    )
    SELECT id, ${notify(sql`id`)} FROM released`.execute(db);
  return rows.length === 1;
}

/** Ends an open job at once; its worker learns of it at the next heartbeat and is not charged for. */
export async function cancelJob(db: Executor, jobId: string, projectId: string): Promise<boolean> {
  const failure: JobFailure = { code: "cancelled", message: "The job was cancelled." };
  const { rows } = await sql`
    UPDATE jobs SET state = 'failed', failure = ${JSON.stringify(failure)}::jsonb,
      ended_at = now(), lease_until = NULL, worker_id = NULL
    WHERE id = ${jobId} AND project_id = ${projectId} AND ${OPEN}
    RETURNING id, ${notify(sql`id`)}`.execute(db);
  return rows.length === 1;
}

/** Ends the jobs whose callers waited at these addresses; resolves to how many there were. */
export async function abandonReplies(db: Executor, addresses: readonly string[]): Promise<number> {
  const failure: JobFailure = { code: "cancelled", message: "The job's caller has gone." };
  const { rows } = await sql`
    UPDATE jobs SET state = 'failed', failure = ${JSON.stringify(failure)}::jsonb,
      ended_at = now(), lease_until = NULL, worker_id = NULL
    WHERE report_to = ANY(${addresses}::text[]) AND ${OPEN}
    RETURNING ${notify(sql`id`)}`.execute(db);
  return rows.length;
}

/** Hides a job and forgets its request and output; the janitor drops the row a day later. */
export async function deleteJob(db: Executor, jobId: string, projectId: string): Promise<boolean> {
  const { rows } = await sql`
    UPDATE jobs SET deleted_at = now(), request = '{}', output = NULL, idempotency_key = NULL,
      artifacts = '[]'
    WHERE id = ${jobId} AND project_id = ${projectId} AND deleted_at IS NULL AND NOT (${OPEN})
    RETURNING id, ${notify(sql`id`)}`.execute(db);
  return rows.length === 1;
}

/** Takes back a job the broker never confirmed; false when a worker holds it after all. */
export async function withdrawJob(db: Executor, jobId: string): Promise<boolean> {
  const { rows } = await sql`
    DELETE FROM jobs WHERE id = ${jobId} AND state = 'queued' AND token = 0 RETURNING id`.execute(
    db,
  );
  return rows.length === 1;
}

/** Fails open jobs nobody holds that may not start any more; returns their ids. */
export async function failOverdueJobs(db: Executor): Promise<string[]> {
  const late: JobFailure = {
    code: "deadline_exceeded",
    message: "The job could not be started in time.",
  };
  const lost: JobFailure = {
    code: "lease_lost",
    message: "The job was given up: its workers kept disappearing.",
  };
  const { rows } = await sql<{ id: string }>`
    UPDATE jobs SET state = 'failed', ended_at = now(), lease_until = NULL, worker_id = NULL,
      failure = CASE WHEN deadline_at <= now() THEN ${JSON.stringify(late)}::jsonb
        ELSE ${JSON.stringify(lost)}::jsonb END
    WHERE ${OPEN} AND ${UNLEASED} AND (deadline_at <= now() OR lapses >= ${MAX_LAPSES})
    RETURNING id, ${notify(sql`id`)}`.execute(db);
  return rows.map(({ id }) => id);
}

export interface JobEnding {
  readonly state: string;
  readonly token: number;
  readonly failure: JobFailure | null;
  readonly held: boolean;
  /** Where a checkpoint lies that the next attempt resumes from. */
  readonly checkpoint_id: string | null;
}

/** What became of a job whose report moved nothing. */
export async function findEnding(db: Executor, jobId: string): Promise<JobEnding | undefined> {
  const { rows } = await sql<JobEnding>`
    SELECT state, token, failure, lease_until IS NOT NULL AS held,
      checkpoint->>'id' AS checkpoint_id FROM jobs
    WHERE id = ${jobId}`.execute(db);
  return rows[0];
}

/** Notes the GPU time of an attempt whose job ended without it. */
export async function closeAttempt(db: Executor, report: FailureReport): Promise<void> {
  await endAttempt(report, report.failure.code, report.gpuMs).execute(db);
}

function endAttempt({ jobId, token }: LeaseRef, outcome: string, gpuMs: number) {
  return sql`UPDATE attempts SET outcome = ${outcome}, gpu_ms = ${Math.round(gpuMs)}::bigint,
    ended_at = now() WHERE job_id = ${jobId} AND token = ${token} AND outcome IS NULL`;
}
