import {
  type Db,
  type Sql,
  sql,
  CANCELLED,
  endedJobs,
  inMicroUsd,
  isoTime,
  nanoUsdOf,
  OLDEST_SECONDS,
  OPEN,
  readGpuRate,
  ROLLED_UNTIL,
  startOf,
  RUNNING_COUNT,
} from "../ledger/index.js";
import type { Estimates } from "../jobs/index.js";
import { type Margin, readMargins } from "./margins.js";
import { cached } from "../../core/async/cached.js";

/** One model's jobs that have not ended. */
export interface OpenQueue {
  readonly modality: string;
  readonly model: string;
  readonly queued: number;
  readonly running: number;
  /** How long the oldest queued job has waited; null where none waits. */
  readonly oldestSeconds: number | null;
  /** Compute-seconds that its jobs still need, as far as their kind was measured. */
  readonly outstandingSeconds: number;
}

/** Jobs of one model that ended within the last hour. Times in seconds, of completed jobs. */
export interface PaceSummary {
  readonly modality: string;
  readonly model: string;
  readonly completed: number;
  /** Cancelled ones are not among them. */
  readonly failed: number;
  readonly waitMedian: number | null;
  readonly wait95: number | null;
  readonly runMedian: number | null;
  readonly run95: number | null;
}

/** Jobs that ended within a minute; cancelled ones are not among them. */
interface Ended {
  readonly completed: number;
  readonly failed: number;
}

export interface MinuteSummary extends Ended {
  readonly byModality: Readonly<Record<string, Ended>>;
}

export interface FailureSummary {
  readonly code: string;
  readonly modality: string;
  readonly model: string;
  readonly jobs: number;
  /** ISO 8601. */
  readonly latestAt: string;
}

/** Money in micro-dollars; days and months are UTC. */
export interface SpendingSummary {
  readonly projectId: string;
  readonly name: string;
  readonly todayMicroUsd: number;
  readonly monthMicroUsd: number;
  /** Most that its open jobs may cost. */
  readonly reservedMicroUsd: number;
  readonly monthlyLimitMicroUsd: number | null;
  readonly jobsThisMonth: number;
}

/** How the service does, from the ledger: every replica says the same. */
export interface Overview {
  /** ISO 8601. */
  readonly at: string;
  readonly queues: readonly OpenQueue[];
  readonly paces: readonly PaceSummary[];
  /** The last 60 minutes, oldest first; the last one is not over. */
  readonly minutes: readonly MinuteSummary[];
  /** Of the last hour, the latest first. */
  readonly failures: readonly FailureSummary[];
  /** The projects that spent most this month. */
  readonly spending: readonly SpendingSummary[];
  /** What all workers cost an hour now, in nano-dollars. */
  readonly gpuNanoUsdPerHour: number;
  /** Of this month, by model. */
  readonly margins: readonly Margin[];
}

/** A job that its caller cancelled has not failed. */
const HAS_FAILED = sql`state = 'failed' AND NOT ${CANCELLED}`;
const MOST_PROJECTS = 100;
const MOST_FAILURES = 20;
/** The last hour is read again after this long: reading it takes a while where jobs are many. */
const FRESH_MS = 5_000;

type Past = Pick<Overview, "paces" | "minutes" | "failures" | "spending" | "margins">;

/** Reads the overview; dashboards that ask at once share one reading of the last hour. */
export function createOverview(
  db: Db,
  { outstandingByModel }: Pick<Estimates, "outstandingByModel">,
): () => Promise<Overview> {
  const recent = cached(FRESH_MS, async () => await readHistory(db));
  return async () => {
    const [open, work, gpuNanoUsdPerHour, earlier] = await Promise.all([
      readQueues(db),
      outstandingByModel(),
      readGpuRate(db),
      recent(),
    ]);
    const queues = open.map((queue) =>
      Object.assign({ outstandingSeconds: work.get(queue.model)?.seconds ?? 0 }, queue),
    );
    return { at: new Date().toISOString(), queues, gpuNanoUsdPerHour, ...earlier };
  };
}

/**
 * Reads what takes many rows together. The statements of requests look rows up by their indexes, and
 * their sessions forbid anything else; for a sum of a month that is the wrong plan.
 */
async function readHistory(db: Db): Promise<Past> {
  return await db.transaction(async (trx) => {
    await sql`SET LOCAL enable_seqscan = on`.execute(trx);
    const paces = await readPaces(trx);
    const minutes = await readMinutes(trx);
    const failures = await readFailures(trx);
    const spending = await readSpending(trx);
    return {
      paces,
      minutes,
      failures,
      spending,
      margins: await readMargins(trx, { by: ["model"] }),
    };
  });
}

async function readQueues(db: Db): Promise<Omit<OpenQueue, "outstandingSeconds">[]> {
  const { rows } = await sql<Omit<OpenQueue, "outstandingSeconds">>`
    SELECT modality, model, count(*) FILTER (WHERE state = 'queued')::int AS queued,
      ${RUNNING_COUNT} AS running, ${OLDEST_SECONDS} AS "oldestSeconds"
    FROM jobs WHERE ${OPEN}
    GROUP BY modality, model ORDER BY queued DESC, model`.execute(db);
  return rows;
}

function endedWithinAnHour(): Sql {
  return sql`${endedJobs(sql`now() - interval '1 hour'`)} ended`;
}

async function readPaces(db: Db): Promise<PaceSummary[]> {
  const share = (fraction: number, interval: string) => sql`
    (percentile_cont(${sql.lit(fraction)}::double precision) WITHIN GROUP
      (ORDER BY extract(epoch FROM ${sql.raw(interval)})::double precision)
      FILTER (WHERE state = 'completed'))`;
  const { rows } = await sql<PaceSummary>`
    SELECT modality, model, count(*) FILTER (WHERE state = 'completed')::int AS completed,
      count(*) FILTER (WHERE ${HAS_FAILED})::int AS failed,
      ${share(0.5, "started_at - created_at")} AS "waitMedian",
      ${share(0.95, "started_at - created_at")} AS "wait95",
      ${share(0.5, "ended_at - started_at")} AS "runMedian",
      ${share(0.95, "ended_at - started_at")} AS "run95"
    FROM ${endedWithinAnHour()} GROUP BY modality, model ORDER BY completed DESC, model`.execute(
    db,
  );
  return rows;
}

async function readMinutes(db: Db): Promise<Overview["minutes"]> {
  const { rows } = await sql<MinuteSummary>`
    SELECT sum(completed)::int AS completed, sum(failed)::int AS failed,
      coalesce(jsonb_object_agg(modality, jsonb_build_object('completed', completed, 'failed', failed))
        FILTER (WHERE modality IS NOT NULL), '{}') AS "byModality"
    FROM (
      SELECT ago, modality, count(*) FILTER (WHERE state = 'completed') AS completed,
        count(*) FILTER (WHERE ${HAS_FAILED}) AS failed
      FROM generate_series(59, 0, -1) AS ago
      LEFT JOIN ${endedWithinAnHour()}
        ON floor(extract(epoch FROM now() - ended.ended_at) / 60) = ago
      GROUP BY ago, modality
    ) minutes GROUP BY ago ORDER BY ago DESC`.execute(db);
  return rows;
}

async function readFailures(db: Db): Promise<FailureSummary[]> {
  const { rows } = await sql<FailureSummary>`
    SELECT failure->>'code' AS code, modality, model, count(*)::int AS jobs,
      ${isoTime(sql`max(ended_at)`)} AS "latestAt"
    FROM ${endedWithinAnHour()} WHERE state = 'failed'
    GROUP BY 1, modality, model ORDER BY max(ended_at) DESC LIMIT ${MOST_FAILURES}`.execute(db);
  return rows;
}

async function readSpending(db: Db): Promise<SpendingSummary[]> {
  const { rows } = await sql<SpendingSummary>`
    SELECT projects.id AS "projectId", name, monthly_limit_micro_usd AS "monthlyLimitMicroUsd",
      ${inMicroUsd(sql`month.amount`)} AS "monthMicroUsd",
      ${inMicroUsd(sql`month.today`)} AS "todayMicroUsd", month.jobs AS "jobsThisMonth",
      ${inMicroUsd(sql`(SELECT coalesce(sum(${nanoUsdOf("jobs")}), 0) FROM jobs
        WHERE project_id = projects.id AND ${OPEN})`)} AS "reservedMicroUsd"
    FROM projects, LATERAL (
      SELECT coalesce(sum(amount), 0) AS amount, coalesce(sum(jobs), 0)::int AS jobs,
        coalesce(sum(amount) FILTER (WHERE at >= ${startOf("day")}), 0) AS today
      FROM (
        SELECT day AS at, jobs, amount_nano_usd AS amount FROM usage_days
        WHERE project_id = projects.id AND day >= ${startOf("month")}
        UNION ALL
        SELECT created_at, 1, ${nanoUsdOf("charges")} FROM charges
        WHERE project_id = projects.id AND created_at >= greatest(${startOf("month")}, ${ROLLED_UNTIL})
      ) spent
    ) month ORDER BY month.amount DESC, name LIMIT ${MOST_PROJECTS}`.execute(db);
  return rows;
}

/** The jobs of one model, as they wait, run and end. */
export interface QueueSummary {
  readonly modality: string;
  readonly model: string;
  /** In the broker's queue, or on the way there. */
  readonly queued: number;
  /** In the ledger, until the fair queue lets them go to the broker. */
  readonly waitingForTurn: number;
  readonly running: number;
  /** Since the oldest job that was never started was accepted; 0 where there is none. */
  readonly oldestSeconds: number;
  /** Within the last minute. */
  readonly completed: number;
  /** Within the last minute; cancelled ones apart. */
  readonly failed: number;
  readonly cancelled: number;
  /** From acceptance to the first start, of jobs that started within the last five minutes; null where there are none. */
  readonly waitSecondsP50: number | null;
  readonly waitSecondsP95: number | null;
}

/** Models whose jobs are open, or came or ended within the last five minutes. */
export async function summariseQueues(db: Db): Promise<QueueSummary[]> {
  const { rows } = await sql<QueueSummary>`
    WITH seen AS (
      SELECT * FROM (
        SELECT id FROM jobs WHERE ${OPEN}
        UNION SELECT id FROM jobs WHERE kept AND ended_at > now() - interval '5 minutes'
        UNION SELECT id FROM jobs WHERE NOT kept AND ended_at > now() - interval '5 minutes'
      ) recent JOIN jobs USING (id)
    ), waits AS (
      SELECT modality, model,
        percentile_cont(0.5) WITHIN GROUP (ORDER BY seconds) AS p50,
        percentile_cont(0.95) WITHIN GROUP (ORDER BY seconds) AS p95
      FROM (SELECT modality, model,
          extract(epoch FROM started_at - created_at)::double precision AS seconds
        FROM seen WHERE started_at > now() - interval '5 minutes') started
      GROUP BY modality, model
    )
    SELECT modality, model,
      count(*) FILTER (WHERE state = 'queued' AND released_at IS NOT NULL)::int AS queued,
      count(*) FILTER (WHERE state = 'queued' AND released_at IS NULL)::int AS "waitingForTurn",
      ${RUNNING_COUNT} AS running, coalesce(${OLDEST_SECONDS}, 0) AS "oldestSeconds",
      count(*) FILTER (WHERE state = 'completed' AND ${LAST_MINUTE})::int AS completed,
      count(*) FILTER (WHERE state = 'failed' AND NOT ${CANCELLED} AND ${LAST_MINUTE})::int
        AS failed,
      count(*) FILTER (WHERE state = 'failed' AND ${CANCELLED} AND ${LAST_MINUTE})::int
        AS cancelled,
      max(waits.p50) AS "waitSecondsP50", max(waits.p95) AS "waitSecondsP95"
    FROM seen LEFT JOIN waits USING (modality, model)
    GROUP BY modality, model ORDER BY modality, model`.execute(db);
  return rows;
}

const LAST_MINUTE = sql`ended_at > now() - interval '1 minute'`;
