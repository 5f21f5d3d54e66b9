import { type Db, type Sql, sql } from "./database/sql.js";
import type { WorkerStatus } from "../../core/reports.js";
import { isProject } from "./spending.js";

/** A worker's clock and the ledger's may differ by so much between two announcements of one process. */
const CLOCK_MS = sql`5000`;

/**
 * Adds the time since a worker's last announcement to its days, or since the start of its process: what
 * its machine was paid for, and how much of it went into starting and into jobs. Called before the
 * announcement itself is noted, in its transaction.
 */
export async function recordPaidTime(db: Db, worker: WorkerStatus): Promise<void> {
  const { workerId, uptimeMs, startingMs, busyMs, nanoUsdPerHour } = worker;
  if (uptimeMs <= 0) return;
  const models = worker.models.toSorted((a, b) => a.localeCompare(b, "en")).join(",");
  const ms = (value: number) => sql`${value}::double precision * interval '1 millisecond'`;
  await sql`
    WITH known AS (
      SELECT seen_at, (status ->> 'uptimeMs')::double precision AS uptime_ms,
        (status ->> 'busyMs')::double precision AS busy_ms,
        extract(epoch FROM now() - seen_at) * 1000 AS ago_ms
      FROM workers WHERE id = ${workerId} FOR UPDATE
    ), span AS (
      SELECT greatest(now() - ${ms(uptimeMs)}, known.seen_at) AS paid_from,
        now() - ${ms(uptimeMs)} + ${ms(startingMs)} AS ready_at,
        -- The same process as before: its clock has gone on as the ledger's has.
        greatest(0, ${busyMs}::double precision - CASE
          WHEN abs(${uptimeMs}::double precision - known.uptime_ms - known.ago_ms) < ${CLOCK_MS}
          THEN known.busy_ms ELSE 0 END) AS busy_ms
      FROM (SELECT) AS always LEFT JOIN known ON true
    ), days AS (
      SELECT of_day::date AS day, busy_ms, now() - paid_from AS whole,
        least(now(), day + interval '1 day') - greatest(paid_from, day) AS paid,
        least(now(), day + interval '1 day', ready_at) - greatest(paid_from, day) AS starting
      FROM span, generate_series(date_trunc('day', paid_from AT TIME ZONE 'UTC'),
        now() AT TIME ZONE 'UTC', interval '1 day') AS of_day,
        LATERAL (SELECT of_day AT TIME ZONE 'UTC' AS day) AS utc
    ), parts AS (
      SELECT day, ${inMicroseconds("paid")} AS paid_us,
        greatest(0, ${inMicroseconds("starting")}) AS starting_us,
        (busy_ms * 1000 * extract(epoch FROM paid)
          / nullif(extract(epoch FROM whole), 0))::bigint AS busy_us
      FROM days WHERE paid > interval '0'
    )
    INSERT INTO worker_days (day, worker_id, nano_usd_per_hour, models, paid_us, starting_us, busy_us)
    SELECT day, ${workerId}, ${nanoUsdPerHour}::bigint, ${models}, paid_us, starting_us,
      least(busy_us, paid_us - starting_us)
    FROM parts
    ON CONFLICT (day, worker_id, nano_usd_per_hour, models) DO UPDATE SET
      paid_us = worker_days.paid_us + excluded.paid_us,
      starting_us = worker_days.starting_us + excluded.starting_us,
      busy_us = worker_days.busy_us + excluded.busy_us`.execute(db);
}

function inMicroseconds(column: string): Sql {
  return sql`(extract(epoch FROM ${sql.ref(column)}) * 1000000)::bigint`;
}

/** Adds the attempts that ended between two moments to what the workers' days were used for. */
export async function addWork(
  db: Db,
  { since, until }: { readonly since: Sql; readonly until: Sql },
): Promise<void> {
  await sql`
    INSERT INTO work_days (day, worker_id, project_id, modality, model, tier, service_tier, worked_ms, lost_ms)
    SELECT (ended.ended_at AT TIME ZONE 'UTC')::date, ended.worker_id, project_id, modality, model, tier,
      service_tier, coalesce(sum(gpu_ms) FILTER (WHERE has_product), 0),
      coalesce(sum(gpu_ms) FILTER (WHERE NOT has_product), 0)
    FROM (SELECT job_id, worker_id, gpu_ms, ended_at, outcome IN ('completed', 'preempted') AS has_product
      FROM attempts WHERE outcome IS NOT NULL AND gpu_ms > 0
        AND ended_at >= ${since} AND ended_at < ${until}) ended
      JOIN jobs ON jobs.id = ended.job_id
    GROUP BY 1, 2, 3, 4, 5, 6, 7
    ON CONFLICT (day, worker_id, project_id, modality, model, tier, service_tier) DO UPDATE SET
      worked_ms = work_days.worked_ms + excluded.worked_ms,
      lost_ms = work_days.lost_ms + excluded.lost_ms`.execute(db);
}

/** Attempts that one round closes; a long outage takes several. */
const BATCH = 1_000;

/**
 * Ends attempts of which nobody reports any more: another one has the job, or it has ended. They held
 * their worker until the next attempt began, or the job's end. A late report may still say better for
 * two minutes.
 */
export async function closeLostAttempts(db: Db): Promise<void> {
  await sql`
    UPDATE attempts SET outcome = 'lost', ended_at = now(), gpu_ms = greatest(0,
      extract(epoch FROM lost.held_until - attempts.started_at) * 1000)::bigint
    FROM (
      SELECT open.job_id, open.token, coalesce(following.started_at, jobs.ended_at) AS held_until
      FROM attempts open JOIN jobs ON jobs.id = open.job_id
        LEFT JOIN attempts following
          ON following.job_id = open.job_id AND following.token = open.token + 1
      WHERE open.outcome IS NULL AND open.started_at < now() - interval '2 minutes'
        AND (jobs.token > open.token OR jobs.ended_at IS NOT NULL)
      LIMIT ${BATCH}
    ) lost
    WHERE attempts.job_id = lost.job_id AND attempts.token = lost.token
      AND attempts.outcome IS NULL`.execute(db);
}

/** What GPU cost can be summed by. */
export const COST_GROUPS = ["day", "project", "model", "tier", "service_tier"] as const;
export type CostGroup = (typeof COST_GROUPS)[number];

/**
 * What the workers' time cost that went to one group, in nano-dollars; the fields that it is summed by
 * are null for time that nobody used.
 */
export interface GpuCost {
  /** `2026-11-30`, UTC. */
  readonly day?: string;
  readonly projectId?: string | null;
  readonly project?: string | null;
  readonly modality?: string | null;
  readonly model?: string | null;
  readonly tier?: string | null;
  readonly serviceTier?: string | null;
  /** Attempts that completed, or handed over what they had made. */
  readonly workedNanoUsd: number;
  /** Attempts that failed, were cancelled, or of which nobody reported. */
  readonly lostNanoUsd: number;
  /** Workers' starts, in the proportion in which they worked that day. */
  readonly startingNanoUsd: number;
  /** Waiting for jobs, in the same proportion. */
  readonly idleNanoUsd: number;
  readonly gpuNanoUsd: number;
}

interface CostQuery {
  /** Project, id or name; all by default. */
  readonly project?: string | undefined;
  /** First day, `2026-11-01`, UTC. */
  readonly since: string;
  /** The day after the last one. */
  readonly until: string;
  readonly by: readonly CostGroup[];
}

const GROUP_COLUMNS: Readonly<Record<CostGroup, Readonly<Record<string, Sql>>>> = {
  day: { day: sql`to_char(shares.day, 'YYYY-MM-DD')` },
  project: { projectId: sql`shares.project_id`, project: sql`projects.name` },
  model: { modality: sql`shares.modality`, model: sql`shares.model` },
  tier: { tier: sql`shares.tier` },
  service_tier: { serviceTier: sql`shares.service_tier` },
};
const PARTS = ["worked", "lost", "starting", "idle"] as const;

/**
 * The cost of whole days, shared out to the nano-dollar: each worker's day goes to what was done in it,
 * that of a worker without work to what others with the same models did that day, and what is left
 * is nobody's. The sum is hours × price, whatever it is grouped by.
 */
export async function readGpuCost(db: Db, query: CostQuery): Promise<GpuCost[]> {
  const { project, since, until, by } = query;
  const groups = by.flatMap((group) => Object.entries(GROUP_COLUMNS[group]));
  const columns = groups.map(([name, value]) => sql`${value} AS ${sql.ref(name)}`);
  const sums = PARTS.map(
    (part) => sql`sum(shares.${sql.ref(part)})::bigint AS ${sql.ref(`${part}NanoUsd`)}`,
  );
  const total = sql.join(
    PARTS.map((part) => sql`shares.${sql.ref(part)}`),
    " + ",
  );
  const { rows } = await sql<GpuCost>`
    ${sharedOut(since, until)}
    SELECT ${sql.join([...columns, ...sums])}, sum(${total})::bigint AS "gpuNanoUsd"
    FROM shares LEFT JOIN projects ON projects.id = shares.project_id
    WHERE ${project === undefined ? sql`true` : isProject(project)}
    ${groups.length === 0 ? sql`HAVING count(*) > 0` : sql`GROUP BY ${sql.join(groups.map(([, value]) => value))}`}
    ORDER BY ${sql.join([
      ...groups.flatMap(([name, value]) => (name === "day" ? [value] : [])),
      sql`sum(${total}) DESC`,
      ...groups.map(([, value]) => value),
    ])}`.execute(db);
  return rows;
}

/** Columns by which kinds of work differ. */
const KIND = sql`project_id, modality, model, tier, service_tier`;

/** Nano-dollars of microseconds. */
function costOf(column: string): Sql {
  return sql`sum(floor(${sql.ref(column)}::numeric * nano_usd_per_hour / 3600000000))`;
}

/**
 * The part of an amount that goes to a row of `weight`, of rows whose weights add up to `whole`, to `upto`
 * with this one: differences of rounded sums add up to the amount.
 */
function shareOf(amount: Sql): Sql {
  return sql`(floor(${amount} * upto / whole) - floor(${amount} * (upto - weight) / whole))`;
}

function sharedOut(since: string, until: string): Sql {
  const within = sql`day >= ${since}::date AND day < ${until}::date`;
  const running = (by: Sql) => sql`sum(weight) OVER (PARTITION BY ${by} ORDER BY ${KIND}) AS upto,
    sum(weight) OVER (PARTITION BY ${by}) AS whole`;
  return sql`WITH paid AS (
      SELECT day, worker_id, min(models) AS models, ${costOf("paid_us")} AS paid,
        ${costOf("starting_us")} AS starting, ${costOf("busy_us")} AS busy
      FROM worker_days WHERE ${within} GROUP BY day, worker_id
    ), work AS (
      SELECT day, worker_id, ${KIND}, lost_ms, (worked_ms + lost_ms)::numeric AS weight
      FROM work_days WHERE ${within} AND worked_ms + lost_ms > 0
    ), own AS (
      SELECT day, ${KIND}, weight, lost_ms, starting, busy, paid - starting - busy AS idle,
        ${running(sql`day, worker_id`)}
      FROM work JOIN paid USING (day, worker_id)
    ), own_shares AS (
      SELECT day, ${KIND}, ${shareOf(sql`busy`)} AS used, lost_ms / weight AS lost_part,
        ${shareOf(sql`starting`)} AS starting, ${shareOf(sql`idle`)} AS idle
      FROM own
    ), unused AS (
      SELECT day, models, sum(starting) AS starting, sum(paid - starting) AS idle
      FROM paid WHERE NOT EXISTS (SELECT FROM work
        WHERE work.day = paid.day AND work.worker_id = paid.worker_id)
      GROUP BY day, models
    ), pooled AS (
      SELECT day, models, ${KIND}, sum(weight) AS weight
      FROM work JOIN paid USING (day, worker_id) GROUP BY day, models, ${KIND}
    ), pools AS (
      SELECT day, models, ${KIND}, weight, ${running(sql`day, models`)} FROM pooled
    ), shares AS (
      SELECT day, ${KIND}, used - floor(used * lost_part) AS worked, floor(used * lost_part) AS lost,
        starting, idle FROM own_shares
      UNION ALL
      SELECT day, ${KIND}, 0, 0, ${shareOf(sql`starting`)}, ${shareOf(sql`idle`)}
      FROM unused JOIN pools USING (day, models)
      UNION ALL
      SELECT day, NULL, NULL, NULL, NULL, NULL, 0, 0, starting, idle FROM unused
      WHERE NOT EXISTS (SELECT FROM pools
        WHERE pools.day = unused.day AND pools.models = unused.models)
    )`;
}
