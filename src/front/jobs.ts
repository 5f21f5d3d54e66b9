import { sql, type Kysely, type RawBuilder } from "kysely";
import type { Artifact } from "../core/artifact.js";
import type { JobFailure, Lease } from "../core/job.js";
import type {
  CompletionReport,
  FailureReport,
  LeaseRef,
  ReleaseReport,
  WorkerOrders,
} from "../core/reports.js";
import type { Tables } from "./tables.js";
import { CURRENT_TURN, giveWay, IS_CONTESTED } from "./turns.js";
import { isDraining } from "./workers.js";

/**
 * The state machine. Every move is one statement that names the state it leaves and, for workers,
 * the fencing token; no row means the move was not theirs to make. All times are the database's.
 */

/** A `NOTIFY` on it carries the id of a job that changed. */
export const JOBS_CHANNEL = "framemill_jobs";
export const LEASE_MS = 30_000;
/** The crash that ends a job. */
const MAX_CRASHES = 3;
/** Leases that may lapse in silence before the job is given up: a broker restart makes one each. */
const MAX_LAPSES = 25;
export const RETRY_DELAYS_MS = [5_000, 30_000, 120_000] as const;
/** A retry publishes itself; the janitor steps in when it has not shown up by then. */
const RETRY_GRACE_MS = 180_000;

type Executor = Kysely<Tables>;

export interface Claim extends Omit<Lease, "jobId" | "leaseMs"> {
  readonly checkpoint: Artifact | null;
}

/** What an asked-for job led to. */
export interface ClaimAnswer {
  /** Undefined when the job has ended, is unknown, is held by another, or gives way. */
  readonly claim: Claim | undefined;
  /** Whether other jobs of the model wait in the ledger for their turn, or one has just been let go. */
  readonly othersWait: boolean;
}

const OPEN = sql`state IN ('queued', 'in_progress')`;
const UNLEASED = sql`(lease_until IS NULL OR lease_until <= now())`;

/**
 * Takes the lease, unless it is another project's turn: then the job goes back to wait in the ledger
 * and the other one to the queue. The usual case, where nobody else waits, is a shorter statement.
 */
export async function claimJob(
  db: Executor,
  jobId: string,
  workerId: string,
): Promise<ClaimAnswer> {
  const claimer = { jobId, workerId };
  const alone = await takeLease(db, claimer, {
    before: sql``,
    gaveWay: sql`false`,
    isFree: sql`(state <> 'queued' OR NOT ${IS_CONTESTED})`,
  });
  if (alone.claim !== undefined) return alone;
  return await takeLease(db, claimer, {
    before: sql`${giveWay(jobId)},`,
    gaveWay: sql`EXISTS (SELECT FROM rival)`,
    isFree: sql`NOT EXISTS (SELECT FROM rival)`,
  });
}

interface ClaimRule {
  /** Common table expressions. */
  readonly before: RawBuilder<unknown>;
  /** Whether the asked-for job went back to wait. */
  readonly gaveWay: RawBuilder<unknown>;
  /** Whether no other project's job goes first. */
  readonly isFree: RawBuilder<unknown>;
}

async function takeLease(
  db: Executor,
  { jobId, workerId }: { readonly jobId: string; readonly workerId: string },
  { before, gaveWay, isFree }: ClaimRule,
): Promise<ClaimAnswer> {
  const { rows } = await sql<Nullable<Claim> & { readonly othersWait: boolean }>`
    WITH RECURSIVE ${before} leased AS (
      UPDATE jobs SET state = 'in_progress', token = token + 1, attempts = attempts + 1,
        turn = CASE WHEN state = 'queued' THEN ${CURRENT_TURN} ELSE turn END,
        released_at = coalesce(released_at, now()),
        lapses = lapses + (CASE WHEN worker_id IS NULL THEN 0 ELSE 1 END),
        worker_id = ${workerId}, lease_until = ${inMs(LEASE_MS)},
        started_at = coalesce(started_at, now())
      WHERE id = ${jobId} AND ${OPEN} AND ${UNLEASED} AND deadline_at > now()
        AND lapses < ${MAX_LAPSES} AND ${isFree}
      RETURNING id, token, attempts, prices, checkpoint, kept
    ), noted AS (
      INSERT INTO attempts (job_id, token, worker_id) SELECT id, token, ${workerId} FROM leased
    )
    SELECT token, attempts AS attempt, prices, checkpoint,
      CASE WHEN kept THEN ${notify(sql`leased.id`)} END,
      ${gaveWay} OR EXISTS (SELECT FROM jobs asked JOIN jobs waiting USING (modality, model)
        WHERE asked.id = ${jobId} AND asked.state = 'queued' AND waiting.id <> asked.id
          AND waiting.state = 'queued' AND waiting.released_at IS NULL) AS "othersWait"
    FROM (SELECT) asked LEFT JOIN leased ON true`.execute(db);
  const [row] = rows;
  if (row === undefined) return { claim: undefined, othersWait: false };
  const { token, attempt, prices, checkpoint, othersWait } = row;
  const isLeased = token !== null && attempt !== null && prices !== null;
  return { claim: isLeased ? { token, attempt, prices, checkpoint } : undefined, othersWait };
}

type Nullable<T> = { readonly [Key in keyof T]: T[Key] | null };

/** Milliseconds another worker still holds the job; undefined when nobody can run it any more. */
export async function findLiveLease(db: Executor, jobId: string): Promise<number | undefined> {
  const { rows } = await sql<{ ms: number }>`
    SELECT (extract(epoch FROM lease_until - now()) * 1000)::int AS ms FROM jobs
    WHERE id = ${jobId} AND ${OPEN} AND lease_until > now()`.execute(db);
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

/** End state, charge and attempt in one statement. */
export async function completeJob(db: Executor, report: CompletionReport): Promise<boolean> {
  const { cost } = report;
  const { gpuMs, ...units } = report.usage;
  const { rows } = await sql`
    WITH done AS (
      UPDATE jobs SET state = 'completed', progress = 100, failure = NULL, lease_until = NULL,
        worker_id = NULL, ended_at = now(), has_leftovers = token > 1, expires_at = now() + (CASE WHEN kept THEN interval '24 hours'
          ELSE interval '1 hour' END),
        artifacts = ${JSON.stringify(report.artifacts)}::jsonb,
        usage = ${JSON.stringify(report.usage)}::jsonb,
        output = ${JSON.stringify(report.output ?? null)}::jsonb
      WHERE ${heldBy(report)}
      RETURNING id, project_id, prices
    ), charged AS (
      INSERT INTO charges (job_id, project_id, prices, counted_units, amount_micro_usd, gpu_ms)
      SELECT id, project_id, prices, ${JSON.stringify(units)}::jsonb,
        ${cost.amountMicroUsd}::bigint, ${Math.round(gpuMs)}::bigint FROM done
    ), noted AS (
      ${endAttempt(report, "completed", gpuMs)}
    )
    SELECT id, ${notify(sql`id`)} FROM done`.execute(db);
  return rows.length === 1;
}

export interface FailedAttempt {
  readonly state: "in_progress" | "failed";
  readonly crashes: number;
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
    SELECT state, crashes, ${notify(sql`id`)} FROM failed`.execute(db);
  return rows[0];
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

/** Ends the jobs whose callers waited at this address before the replica there started. */
export async function abandonReplies(db: Executor, reportTo: string): Promise<void> {
  const failure: JobFailure = { code: "cancelled", message: "The job's caller has gone." };
  await sql`
    UPDATE jobs SET state = 'failed', failure = ${JSON.stringify(failure)}::jsonb,
      ended_at = now(), lease_until = NULL, worker_id = NULL
    WHERE report_to = ${reportTo} AND ${OPEN}`.execute(db);
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

/** The fence: this token, and nothing that has ended. */
function heldBy({ jobId, token }: LeaseRef): RawBuilder<unknown> {
  return sql`id = ${jobId} AND token = ${token} AND state = 'in_progress'`;
}

function endAttempt({ jobId, token }: LeaseRef, outcome: string, gpuMs: number) {
  return sql`UPDATE attempts SET outcome = ${outcome}, gpu_ms = ${Math.round(gpuMs)}::bigint,
    ended_at = now() WHERE job_id = ${jobId} AND token = ${token} AND outcome IS NULL`;
}

function inMs(durationMs: number): RawBuilder<unknown> {
  return sql`now() + ${durationMs}::int * interval '1 millisecond'`;
}

/** Delivered when the transaction commits. */
function notify(id: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`pg_notify(${sql.lit(JOBS_CHANNEL)}, ${id})`;
}
