import { type Db, type Sql, sql } from "./database/sql.js";
import { addWork } from "./gpu-cost.js";
import { endedJobs } from "./job-records.js";

/** Jobs of one kind that ended, ever: those whose rows are gone as well. */
export interface EndedJobs {
  readonly model: string;
  readonly tier: string;
  readonly state: string;
  readonly jobs: number;
  /** Completed without a charge. */
  readonly uncharged: number;
}

export interface EndedAttempts {
  readonly outcome: string;
  readonly attempts: number;
  readonly gpuMs: number;
}

export interface Totals {
  readonly jobs: readonly EndedJobs[];
  readonly attempts: readonly EndedAttempts[];
}

/** What one step sums at most, in time; a service that stood still for a day takes 144 of them. */
const STEP = sql`interval '10 minutes'`;
const MOST_STEPS = 50;
/**
 * Nothing ends before this moment any more: the end of a job is the time at which its transaction began,
 * so none that still runs may be passed over, nor one that begins on a standby's clock.
 */
const SETTLED = sql`least(now() - interval '20 seconds', (SELECT min(xact_start) FROM pg_stat_activity
  WHERE datname = current_database() AND backend_xid IS NOT NULL AND pid <> pg_backend_pid()))`;
const ROLLED_UNTIL = sql`(SELECT rolled_until FROM totals_rollup)`;

/** Adds what has ended meanwhile to the totals, each end once; one replica does it at a time. */
export async function rollUpTotals(db: Db): Promise<void> {
  for (let step = 0; step < MOST_STEPS; step += 1) if (!(await db.transaction(rollUpStep))) return;
}

/** Resolves to whether more is to be summed. */
async function rollUpStep(trx: Db): Promise<boolean> {
  // As text: a JavaScript date has milliseconds only.
  const { rows } = await sql<{ since: string; until: string; has_more: boolean }>`
    SELECT rolled_until::text AS since, least(${SETTLED}, rolled_until + ${STEP})::text AS until,
      rolled_until + ${STEP} < ${SETTLED} AS has_more
    FROM totals_rollup WHERE rolled_until < ${SETTLED} FOR UPDATE SKIP LOCKED`.execute(trx);
  const [step] = rows;
  if (step === undefined) return false;
  const [since, until] = [sql`${step.since}::timestamptz`, sql`${step.until}::timestamptz`];
  await sql`INSERT INTO job_totals ${countJobs(since, until)}
    ON CONFLICT (model, tier, state) DO UPDATE SET jobs = job_totals.jobs + excluded.jobs,
      uncharged = job_totals.uncharged + excluded.uncharged`.execute(trx);
  await sql`INSERT INTO attempt_totals ${countAttempts(since, until)}
    ON CONFLICT (outcome) DO UPDATE SET attempts = attempt_totals.attempts + excluded.attempts,
      gpu_ms = attempt_totals.gpu_ms + excluded.gpu_ms`.execute(trx);
  await addWork(trx, { since, until });
  await sql`UPDATE totals_rollup SET rolled_until = ${until}`.execute(trx);
  return step.has_more;
}

/** What is summed, and what ended since. */
export async function readTotals(db: Db): Promise<Totals> {
  const [jobs, attempts] = await Promise.all([
    sql<EndedJobs>`SELECT model, tier, state, sum(jobs)::bigint AS jobs,
        sum(uncharged)::bigint AS uncharged
      FROM (SELECT model, tier, state, jobs, uncharged FROM job_totals
        UNION ALL ${countJobs(ROLLED_UNTIL, sql`'infinity'`)}) ended
      GROUP BY model, tier, state`.execute(db),
    sql<EndedAttempts>`SELECT outcome, sum(attempts)::bigint AS attempts,
        sum(gpu_ms)::bigint AS "gpuMs"
      FROM (SELECT outcome, attempts, gpu_ms FROM attempt_totals
        UNION ALL ${countAttempts(ROLLED_UNTIL, sql`'infinity'`)}) ended
      GROUP BY outcome`.execute(db),
  ]);
  return { jobs: jobs.rows, attempts: attempts.rows };
}

function countJobs(since: Sql, until: Sql): Sql {
  return sql`SELECT ended.model, tier, state, count(*) AS jobs,
      count(*) FILTER (WHERE state = 'completed'
        AND NOT EXISTS (SELECT FROM charges WHERE job_id = ended.id)) AS uncharged
    FROM ${endedJobs(since, until)} ended GROUP BY ended.model, tier, state`;
}

function countAttempts(since: Sql, until: Sql): Sql {
  return sql`SELECT outcome, count(*) AS attempts, sum(gpu_ms) AS gpu_ms FROM attempts
    WHERE outcome IS NOT NULL AND ended_at >= ${since} AND ended_at < ${until} GROUP BY outcome`;
}
