import { sql, type Kysely, type RawBuilder } from "kysely";
import type { Tables } from "./database/tables.js";

/**
 * Whose turn it is: start-time fair queueing (Goyal, Vin and Cheng, 1996) of projects over the jobs of
 * one model. A job's turn is the later of the turn that was served when it came and the end of its
 * project's last served job, in units of work over the project's weight; the earliest turn goes first.
 * The broker's queue is first in, first out, so it holds a few messages only and the ledger the rest.
 */

/** Jobs that one queue serves. */
export interface Lane {
  readonly modality: string;
  readonly model: string;
}

export interface LaneWindow extends Lane {
  /** Most released jobs that nobody has claimed yet. */
  readonly room: number;
}

/** Messages ahead of the workers for each job that a model runs at once. */
const READY_PER_SLOT = 4;

export function roomOf(concurrency: number): number {
  return READY_PER_SLOT * concurrency;
}

/** Waits in the ledger for its turn: `queued` and not released, in the words of its index. */
export const HELD_BACK = sql`ended_at IS NULL AND released_at IS NULL`;

const IN_LANE = sql`jobs.modality = lane.modality AND jobs.model = lane.model`;
const WAITING = sql`${IN_LANE} AND jobs.state = 'queued'`;

/** The turn that is being served in a row `lane` (modality, model). */
export const SERVED_TURN = sql`coalesce((SELECT max(turn) FROM jobs
  WHERE ${IN_LANE} AND token > 0), 0)`;

/** Released jobs that nobody has claimed yet in a row `lane` (modality, model, room), at most its room. */
export const AHEAD_IN_LANE = sql`(SELECT count(*) FROM (SELECT FROM jobs
  WHERE ${WAITING} AND released_at IS NOT NULL LIMIT lane.room) ahead)`;

/** The end of the last served job of a project (a row with `project_id`) in a lane. */
function finishOf(project: RawBuilder<unknown>, lane: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`coalesce((SELECT served.turn + served.work / projects.weight
    FROM jobs served JOIN projects ON projects.id = served.project_id
    WHERE served.modality = ${lane}.modality AND served.model = ${lane}.model
      AND served.project_id = ${project}.project_id AND served.token > 0
    ORDER BY served.turn DESC LIMIT 1), 0)`;
}

/** The turn of a row of `jobs` that was never claimed, as it stands now. */
export const CURRENT_TURN = sql`greatest(jobs.turn, ${finishOf(sql`jobs`, sql`jobs`)})`;

/** Whether jobs of other projects wait beside a row of `jobs`. */
export const IS_CONTESTED = sql`(${sql.join(
  ["<", ">"].map(
    (side) => sql`EXISTS (SELECT FROM jobs other
      WHERE other.modality = jobs.modality AND other.model = jobs.model AND other.state = 'queued'
        AND other.project_id ${sql.raw(side)} jobs.project_id)`,
  ),
  sql` OR `,
)})`;

/**
 * Common table expressions over one named `lane` (modality, model): `shares`, one row for each project
 * that has jobs waiting, with `finish`, the end of its last served job.
 */
const SHARES = sql`
  waiting (project_id) AS (
    (SELECT project_id FROM jobs, lane WHERE ${WAITING} ORDER BY project_id LIMIT 1)
    UNION ALL
    SELECT (SELECT jobs.project_id FROM jobs, lane
      WHERE ${WAITING} AND jobs.project_id > waiting.project_id ORDER BY jobs.project_id LIMIT 1)
    FROM waiting WHERE waiting.project_id IS NOT NULL
  ), shares AS (
    SELECT waiting.project_id, projects.weight, ${finishOf(sql`waiting`, sql`lane`)} AS finish
    FROM waiting JOIN projects ON projects.id = waiting.project_id, lane
  )`;

/**
 * Common table expressions: `released`, the jobs of `ids` that go from the ledger to the queue now, and
 * `outgoing`, which puts them into the outbox.
 */
function releaseJobs(ids: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`
    released AS (
      UPDATE jobs SET released_at = now(), republish_after = now() + interval '60 seconds'
      WHERE id IN (${ids}) AND ${HELD_BACK}
      RETURNING id
    ), outgoing AS (
      INSERT INTO outbox (job_id) SELECT id FROM released ON CONFLICT (job_id) DO NOTHING
    )`;
}

/**
 * Common table expressions for the claim of a job: `rival`, the job of another project whose turn is
 * earlier and which is on its way to a worker, or can be put on it. Where there is one, it is released
 * and the asked-for job goes back to wait. A job that was claimed before has no rival.
 */
export function giveWay(jobId: string): RawBuilder<unknown> {
  return sql`
    lane AS (SELECT modality, model FROM jobs WHERE id = ${jobId} AND state = 'queued'),
    ${SHARES},
    mine AS (
      SELECT jobs.project_id, ${CURRENT_TURN} AS turn FROM jobs, lane WHERE jobs.id = ${jobId}
    ),
    rival AS (
      SELECT head.id, head.released_at FROM mine, shares CROSS JOIN LATERAL (
        SELECT jobs.id, jobs.seq, jobs.released_at, greatest(jobs.turn, shares.finish) AS turn
        FROM jobs, lane WHERE ${WAITING} AND jobs.project_id = shares.project_id
        ORDER BY jobs.seq LIMIT 1
      ) head
      WHERE shares.project_id <> mine.project_id AND head.turn < mine.turn
        AND (head.released_at IS NULL OR head.released_at > now() - interval '2 seconds')
      ORDER BY head.turn, head.seq LIMIT 1
    ), put_back AS (
      UPDATE jobs SET released_at = NULL
      WHERE id = ${jobId} AND state = 'queued' AND EXISTS (SELECT FROM rival)
    ), ${releaseJobs(sql`SELECT id FROM rival`)}`;
}

/** Lanes whose jobs wait in the ledger for their turn. */
export async function listWaitingLanes(db: Kysely<Tables>): Promise<Lane[]> {
  const { rows } = await sql<Lane>`SELECT DISTINCT modality, model FROM jobs
    WHERE ${HELD_BACK}`.execute(db);
  return rows;
}

/** Puts the next jobs of a lane into the outbox, as many as there is room for. */
export async function releaseNext(db: Kysely<Tables>, window: LaneWindow): Promise<void> {
  const { modality, model, room } = window;
  await sql`
    WITH RECURSIVE lane AS (SELECT ${modality}::text AS modality, ${model}::text AS model),
    ${SHARES},
    next AS (
      SELECT candidate.id FROM shares CROSS JOIN LATERAL (
        SELECT jobs.id, jobs.seq, jobs.released_at, greatest(jobs.turn, shares.finish)
          + sum(jobs.work / shares.weight) OVER (ORDER BY jobs.seq)
          - jobs.work / shares.weight AS turn
        FROM jobs, lane WHERE ${WAITING} AND jobs.project_id = shares.project_id
        ORDER BY jobs.seq LIMIT ${2 * room}
      ) candidate
      WHERE candidate.released_at IS NULL ORDER BY candidate.turn, candidate.seq
      LIMIT greatest(0, ${room}::int - (SELECT count(*) FROM jobs, lane
        WHERE ${WAITING} AND jobs.released_at IS NOT NULL))
    ), ${releaseJobs(sql`SELECT id FROM next`)}
    SELECT`.execute(db);
}
