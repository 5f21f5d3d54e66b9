import { type Db, sql } from "./database/sql.js";
import type { JobFailure, Lease } from "../../core/job.js";
import {
  type CompletionReport,
  type FailureReport,
  leaseKey,
  type LeaseRef,
  type ReleaseReport,
  type WorkerOrders,
} from "../../core/reports.js";
import type { Units } from "../../core/usage.js";
import type { Artifact } from "../../core/artifact.js";
import { readStatement } from "./statements.js";
import type { AnsweredJob } from "./job-records.js";
import type { CompletedRun } from "./paces.js";

/**
 * The moves of a job. Each is one statement of `sql/` that names the state it leaves and, for workers, the
 * fencing token; no row means the move was not theirs to make. All times are the database's.
 * docs/job-states.md draws them.
 */

export const LEASE_MS = 30_000;
/** The crash that ends a job. */
const MOST_CRASHES = 3;
/** Leases that may lapse in silence before the job is given up: a broker restart makes one each. */
const MOST_LAPSES = 25;
export const RETRY_DELAYS_MS = [5_000, 30_000, 120_000] as const;

type Executor = Db;
type OwnedJob = { readonly jobId: string; readonly projectId: string };
type Id = { readonly id: string };

const CANCELLED_BY_OWNER = failureOf("cancelled", "The job was cancelled.");

function failureOf(code: JobFailure["code"], message: string): string {
  return JSON.stringify({ code, message } satisfies JobFailure);
}

const renew = readStatement<LeaseRef & { readonly leaseMs: number }, WorkerOrders>("renew");

/** What its worker is to do besides; undefined where the lease is not held. */
export async function renewLease(db: Executor, lease: LeaseRef): Promise<WorkerOrders | undefined> {
  return (await renew(db, { ...lease, leaseMs: LEASE_MS }))[0];
}

const progress = readStatement<
  LeaseRef & { readonly percent: number; readonly stage: string },
  object
>("progress");

/** Whether the lease is held. Progress never falls, and stays below 100 percent until the end. */
export async function recordProgress(
  db: Executor,
  lease: LeaseRef,
  { percent, stage }: { readonly percent: number; readonly stage: string },
): Promise<boolean> {
  const whole = Math.max(0, Math.min(99, Math.floor(percent)));
  return (await progress(db, { ...lease, percent: whole, stage })).length === 1;
}

export interface FailedAttempt {
  readonly state: "in_progress" | "failed";
  readonly crashes: number;
  /** Attempts, this one included, that ended for want of a part. */
  readonly setbacks: number;
}

interface Failing extends LeaseRef {
  readonly blame: number;
  readonly failure: string;
  readonly gpuMs: number;
  readonly isRetryable: boolean;
  readonly mostCrashes: number;
}

const fail = readStatement<Failing, FailedAttempt>("fail");

/** Another attempt, or the end: decided by the crashes counted before. */
export async function failAttempt(
  db: Executor,
  { jobId, token, failure, gpuMs, retryable: isRetryable }: FailureReport,
  blamed: boolean,
): Promise<FailedAttempt | undefined> {
  const [failed] = await fail(db, {
    jobId,
    token,
    blame: blamed ? 1 : 0,
    failure: JSON.stringify(failure),
    gpuMs: Math.round(gpuMs),
    isRetryable,
    mostCrashes: MOST_CRASHES,
  });
  return failed;
}

interface Releasing extends LeaseRef {
  readonly checkpoint: string | null;
  readonly gpuMs: number;
  readonly leaseMs: number;
}

const release = readStatement<Releasing, Id>("release");

/** Gives the lease back without blame; the public state stays. */
export async function releaseJob(
  db: Executor,
  { jobId, token, checkpoint, gpuMs }: ReleaseReport,
): Promise<boolean> {
  const rows = await release(db, {
    jobId,
    token,
    checkpoint: checkpoint === null ? null : JSON.stringify(checkpoint),
    gpuMs: Math.round(gpuMs),
    leaseMs: LEASE_MS,
  });
  return rows.length === 1;
}

const cancel = readStatement<OwnedJob & { readonly failure: string }, Id>("cancel");

/** Ends an open job at once; its worker learns of it at the next heartbeat and is not charged for. */
export async function cancelJob(db: Executor, jobId: string, projectId: string): Promise<boolean> {
  return (await cancel(db, { jobId, projectId, failure: CANCELLED_BY_OWNER })).length === 1;
}

/** What of an answer was written to its caller's connection, and its price. */
export interface DeliveredCharge {
  readonly units: Units;
  readonly amountNanoUsd: number;
}

export interface Disconnected {
  /** It still ran: its worker is to be stopped. */
  readonly wasOpen: boolean;
  /** The delivered part was charged by this call. */
  readonly isCharged: boolean;
}

interface Disconnecting extends OwnedJob {
  readonly failure: string;
  readonly units: string;
  readonly amountNanoUsd: number;
  readonly isDelivered: boolean;
}

const disconnect = readStatement<Disconnecting, Disconnected>("disconnect");

/** Ends a job whose caller has disconnected, and charges once for what was delivered of its answer. */
export async function endDisconnected(
  db: Executor,
  { charge: { units, amountNanoUsd }, ...job }: OwnedJob & { readonly charge: DeliveredCharge },
): Promise<Disconnected> {
  const [ended] = await disconnect(db, {
    ...job,
    failure: CANCELLED_BY_OWNER,
    units: JSON.stringify(units),
    amountNanoUsd,
    isDelivered: Object.values(units).some((count) => count > 0),
  });
  return ended ?? { wasOpen: false, isCharged: false };
}

const abandon = readStatement<
  { readonly addresses: readonly string[]; readonly failure: string },
  object
>("abandon");

/** Ends the jobs whose callers waited at these addresses; resolves to how many there were. */
export async function abandonReplies(db: Executor, addresses: readonly string[]): Promise<number> {
  const failure = failureOf("cancelled", "The job's caller has gone.");
  return (await abandon(db, { addresses, failure })).length;
}

const erase = readStatement<{ readonly projectId: string; readonly failure: string }, object>(
  "erase",
);

/** Ends the open jobs of a project that is erased. */
export async function cancelErased(db: Executor, projectId: string): Promise<void> {
  await erase(db, { projectId, failure: failureOf("cancelled", "The project was erased.") });
}

const hide = readStatement<OwnedJob, Id>("delete");

/** Hides a job and forgets its request and output; the janitor drops the row a day later. */
export async function deleteJob(db: Executor, jobId: string, projectId: string): Promise<boolean> {
  return (await hide(db, { jobId, projectId })).length === 1;
}

const withdraw = readStatement<{ readonly jobId: string }, Id>("withdraw");

/** Takes back a job the broker never confirmed; false when a worker holds it after all. */
export async function withdrawJob(db: Executor, jobId: string): Promise<boolean> {
  return (await withdraw(db, { jobId })).length === 1;
}

const expire = readStatement<
  { readonly overdue: string; readonly givenUp: string; readonly mostLapses: number },
  Id
>("expire");

/** Fails open jobs nobody holds that may not start any more; returns their ids. */
export async function failOverdueJobs(db: Executor): Promise<string[]> {
  const rows = await expire(db, {
    overdue: failureOf("deadline_exceeded", "The job could not be started in time."),
    givenUp: failureOf("lease_lost", "The job was given up: its workers kept disappearing."),
    mostLapses: MOST_LAPSES,
  });
  return rows.map(({ id }) => id);
}

const missStart = readStatement<object, Id>("miss-start");

/** Fails the jobs that no worker has begun by their `start_deadline`. */
export async function failMissedStarts(db: Executor): Promise<void> {
  await missStart(db, {});
}

export interface JobEnding {
  readonly state: string;
  readonly token: number;
  readonly failure: JobFailure | null;
  readonly held: boolean;
  /** Where a checkpoint lies that the next attempt resumes from. */
  readonly checkpoint_id: string | null;
  /** Milliseconds that the lease still lasts; null where nobody has one. */
  readonly lease_ms: number | null;
}

/** What became of a job whose report moved nothing. */
export async function findEnding(db: Executor, jobId: string): Promise<JobEnding | undefined> {
  const { rows } = await sql<JobEnding>`
    SELECT state, token, failure, lease_until IS NOT NULL AS held,
      checkpoint->>'id' AS checkpoint_id, CASE WHEN ended_at IS NULL AND lease_until > now()
        THEN (extract(epoch FROM lease_until - now()) * 1000)::int END AS lease_ms
    FROM jobs WHERE id = ${jobId}`.execute(db);
  return rows[0];
}

/** Milliseconds a worker still holds the job; undefined where none does. */
export async function findLiveLease(db: Executor, jobId: string): Promise<number | undefined> {
  return (await findEnding(db, jobId))?.lease_ms ?? undefined;
}

/** Milliseconds for which this very claim still has the job; undefined where it has not. */
export async function findOwnLease(db: Executor, lease: LeaseRef): Promise<number | undefined> {
  const job = await findEnding(db, lease.jobId);
  return job?.token === lease.token ? (job.lease_ms ?? undefined) : undefined;
}

/** Notes the GPU time of an attempt whose job ended without it. */
export async function closeAttempt(
  db: Executor,
  { jobId, token, failure, gpuMs }: FailureReport,
): Promise<void> {
  await sql`UPDATE attempts SET outcome = ${failure.code}, gpu_ms = ${Math.round(gpuMs)}::bigint,
      ended_at = now()
    WHERE job_id = ${jobId} AND token = ${token} AND outcome IS NULL`.execute(db);
}

/** Who asks for which job. */
export interface Claimer {
  readonly jobId: string;
  readonly workerId: string;
}

interface Claim extends Omit<Lease, "jobId" | "leaseMs"> {
  readonly checkpoint: Artifact | null;
  /** Units the job may use at most. */
  readonly quotedUnits: Units;
  /** gRPC address of the front that has the caller; null where nobody waits. */
  readonly reportTo: string | null;
}

/** Answer to one claim. */
interface ClaimAnswer {
  /** Undefined when the job has ended, is unknown, is held by another, or queued behind another. */
  readonly claim: Claim | undefined;
  /** Whether other jobs of the model wait in the ledger, or one has just gone to the queue. */
  readonly othersWait: boolean;
}

type ClaimRow = Nullable<Claim> & { readonly id: string; readonly othersWait: boolean };

interface Limits {
  readonly leaseMs: number;
  readonly mostLapses: number;
}

const LIMITS: Limits = { leaseMs: LEASE_MS, mostLapses: MOST_LAPSES };
const claimAll = readStatement<
  Limits & { readonly jobIds: readonly string[]; readonly workerIds: readonly string[] },
  ClaimRow
>("claim");
const claimFairly = readStatement<Limits & Claimer, ClaimRow>("claim-fairly");

/**
 * Takes the leases of jobs, of each for one claimer at most, except where the fair queue puts another
 * project first: then the job goes back to wait in the ledger and the other one to the queue.
 */
export async function claimJobs(db: Db, claimers: readonly Claimer[]): Promise<ClaimAnswer[]> {
  const firsts = new Map(claimers.toReversed().map((claimer) => [claimer.jobId, claimer]));
  const jobIds = [...firsts.keys()];
  const workerIds = [...firsts.values()].map(({ workerId }) => workerId);
  const rows = await claimAll(db, { ...LIMITS, jobIds, workerIds });
  const answers = new Map(rows.map((row) => [row.id, toAnswer(row)]));
  return await Promise.all(
    claimers.map(async (claimer) => {
      const isFirst = firsts.get(claimer.jobId) === claimer;
      const answer = isFirst ? answers.get(claimer.jobId) : undefined;
      if (answer?.claim !== undefined) return answer;
      const [row] = await claimFairly(db, { ...LIMITS, ...claimer });
      return row === undefined ? { claim: undefined, othersWait: false } : toAnswer(row);
    }),
  );
}

function toAnswer(row: ClaimRow): ClaimAnswer {
  const { token, attempt, prices, quotedUnits, reportTo, checkpoint, othersWait } = row;
  const isLeased = token !== null && attempt !== null && prices !== null && quotedUnits !== null;
  const claim = isLeased
    ? { token, attempt, prices, quotedUnits, reportTo, checkpoint }
    : undefined;
  return { claim, othersWait };
}

type Nullable<T> = { readonly [Key in keyof T]: T[Key] | null };

export interface Completion {
  readonly report: CompletionReport;
  /** The quote's prices times the usage. */
  readonly amountNanoUsd: number;
  /** Whether the replica that records it has the caller: no notification is needed. */
  readonly isAwaited: boolean;
  /** Whether it could be played while it was made: its pieces are left over. */
  readonly isLive: boolean;
}

/** A job as it is now that it has ended, and what it took. */
type CompletedJob = AnsweredJob & CompletedRun & { readonly project_id: string };

const complete = readStatement<
  { readonly jobIds: readonly string[]; readonly reports: string },
  CompletedJob & { readonly token: number }
>("complete");

/**
 * End state, charge and attempt of each job in one statement. Resolves to the jobs as they are now; null
 * where the token had lost the job. The same report twice is recorded once and answered twice.
 */
export async function completeJobs(
  db: Db,
  completions: readonly Completion[],
): Promise<(CompletedJob | null)[]> {
  const unique = new Map(
    completions.map((completion) => [leaseKey(completion.report), completion]),
  );
  const ended = await completeEach(db, [...unique.values()]);
  return completions.map((completion) => ended.get(leaseKey(completion.report)) ?? null);
}

/** Different attempts, at most one of which holds its job; those that did, by key. */
async function completeEach(
  db: Db,
  completions: readonly Completion[],
): Promise<Map<string, CompletedJob>> {
  const rows = await complete(db, {
    jobIds: completions.map(({ report }) => report.jobId),
    reports: JSON.stringify(completions.map(toRow)),
  });
  return new Map(rows.map(({ token, ...job }) => [leaseKey({ jobId: job.id, token }), job]));
}

function toRow({ report, isAwaited, isLive, amountNanoUsd }: Completion) {
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
    is_live: isLive,
  };
}
