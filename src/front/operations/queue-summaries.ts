import { sql, type Kysely } from "kysely";
import { CANCELLED, OLDEST_SECONDS, OPEN, RUNNING_COUNT, type Tables } from "../ledger/index.js";

/** The jobs of one model, as they wait, run and end. */
export interface QueueSummary {
  readonly modality: string;
  readonly model: string;
  /** In the broker's queue, or on the way there. */
  readonly queued: number;
  /** In the ledger, until it is their project's turn. */
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
export async function summariseQueues(db: Kysely<Tables>): Promise<QueueSummary[]> {
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
