import { sql, type RawBuilder } from "kysely";
import type { LeaseRef } from "../../core/reports.js";

/** A `NOTIFY` on it carries the id of a job that changed. */
export const JOBS_CHANNEL = "framemill_jobs";

/** Has not ended. */
export const OPEN = sql`state IN ('queued', 'in_progress')`;
/**
 * The same for a job that is known by its id: no index is made for it, for Postgres would rather go
 * through all open jobs than look up some ids where it takes those to be few.
 */
export const NOT_ENDED = sql`ended_at IS NULL`;
/** Of jobs: how many run. */
export const RUNNING_COUNT = sql`count(*) FILTER (WHERE state = 'in_progress')::int`;
/** Of jobs: for how many seconds the oldest queued one has waited; null where none waits. */
export const OLDEST_SECONDS = sql`extract(epoch FROM
  now() - min(created_at) FILTER (WHERE state = 'queued'))::double precision`;
/** Of a failed job: its caller ended it. */
export const CANCELLED = sql`failure ->> 'code' = 'cancelled'`;
/** Nobody holds it, or no longer. */
export const UNLEASED = sql`(lease_until IS NULL OR lease_until <= now())`;

/** The fence: this token, and nothing that has ended. */
export function heldBy({ jobId, token }: LeaseRef): RawBuilder<unknown> {
  return sql`id = ${jobId} AND token = ${token} AND state = 'in_progress'`;
}

/** The time this long from now, by the database's clock. */
export function inMs(durationMs: number): RawBuilder<unknown> {
  return sql`now() + ${durationMs}::int * interval '1 millisecond'`;
}

/** Delivered when the transaction commits. */
export function notify(id: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`pg_notify(${sql.lit(JOBS_CHANNEL)}, ${id})`;
}
