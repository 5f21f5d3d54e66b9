import { sql, type Kysely, type RawBuilder } from "kysely";
import type { Artifact } from "../../core/artifact.js";
import type { Lease } from "../../core/job.js";
import type { Units } from "../../core/usage.js";
import { LEASE_MS, MAX_LAPSES } from "./jobs.js";
import { inMs, NOT_ENDED, notify, UNLEASED } from "./job-moves.js";
import type { Tables } from "./database/tables.js";
import { CURRENT_TURN, giveWay, HELD_BACK, IS_CONTESTED } from "./turns.js";

/** Who asks for which job. */
export interface Claimer {
  readonly jobId: string;
  readonly workerId: string;
}

export interface Claim extends Omit<Lease, "jobId" | "leaseMs"> {
  readonly checkpoint: Artifact | null;
  /** Units the job may use at most. */
  readonly quotedUnits: Units;
  /** gRPC address of the front that has the caller; null where what was made lies in a file. */
  readonly reportTo: string | null;
}

/** What an asked-for job led to. */
export interface ClaimAnswer {
  /** Undefined when the job has ended, is unknown, is held by another, or gives way. */
  readonly claim: Claim | undefined;
  /** Whether other jobs of the model wait in the ledger for their turn, or one has just been let go. */
  readonly othersWait: boolean;
}

/**
 * Takes the leases of jobs, of each for one claimer at most, except where it is another project's turn: then the job goes back
 * to wait in the ledger and the other one to the queue. The usual case, where nobody else waits, is one
 * shorter statement for all.
 */
export async function claimJobs(
  db: Kysely<Tables>,
  claimers: readonly Claimer[],
): Promise<ClaimAnswer[]> {
  const firsts = new Map(claimers.toReversed().map((claimer) => [claimer.jobId, claimer]));
  const answers = await takeLeases(db, [...firsts.values()], {
    before: sql``,
    gaveWay: sql`false`,
    isFree: sql`(state <> 'queued' OR NOT ${IS_CONTESTED})`,
  });
  return await Promise.all(
    claimers.map(async (claimer) => {
      const isFirst = firsts.get(claimer.jobId) === claimer;
      const answer = isFirst ? answers.get(claimer.jobId) : undefined;
      return answer?.claim === undefined ? await claimInTurn(db, claimer) : answer;
    }),
  );
}

async function claimInTurn(db: Kysely<Tables>, claimer: Claimer): Promise<ClaimAnswer> {
  const answers = await takeLeases(db, [claimer], {
    before: sql`${giveWay(claimer.jobId)},`,
    gaveWay: sql`EXISTS (SELECT FROM rival)`,
    isFree: sql`NOT EXISTS (SELECT FROM rival)`,
  });
  return answers.get(claimer.jobId) ?? { claim: undefined, othersWait: false };
}

interface ClaimRule {
  /** Common table expressions. */
  readonly before: RawBuilder<unknown>;
  /** Whether the asked-for job went back to wait. */
  readonly gaveWay: RawBuilder<unknown>;
  /** Whether no other project's job goes first. */
  readonly isFree: RawBuilder<unknown>;
}

type ClaimRow = Nullable<Claim> & { readonly id: string; readonly othersWait: boolean };

/** Answers by job. */
async function takeLeases(
  db: Kysely<Tables>,
  claimers: readonly Claimer[],
  { before, gaveWay, isFree }: ClaimRule,
): Promise<Map<string, ClaimAnswer>> {
  const ids = claimers.map(({ jobId }) => jobId);
  const workers = claimers.map(({ workerId }) => workerId);
  const { rows } = await sql<ClaimRow>`
    WITH RECURSIVE asked AS (
      SELECT job_id, by_worker FROM unnest(${ids}::text[], ${workers}::text[]) AS asked (job_id, by_worker)
    ), ${before} leased AS (
      UPDATE jobs SET state = 'in_progress', token = token + 1, attempts = attempts + 1,
        turn = CASE WHEN state = 'queued' THEN ${CURRENT_TURN} ELSE turn END,
        released_at = coalesce(released_at, now()),
        lapses = lapses + (CASE WHEN worker_id IS NULL THEN 0 ELSE 1 END),
        worker_id = by_worker, lease_until = ${inMs(LEASE_MS)},
        started_at = coalesce(started_at, now())
      FROM asked
      WHERE id = ANY(${ids}::text[]) AND id = job_id AND ${NOT_ENDED} AND ${UNLEASED} AND deadline_at > now()
        AND lapses < ${MAX_LAPSES} AND ${isFree}
      RETURNING id, token, attempts, prices, quoted_units, checkpoint, kept, worker_id,
        report_to
    ), noted AS (
      INSERT INTO attempts (job_id, token, worker_id) SELECT id, token, worker_id FROM leased
    )
    SELECT asked.job_id AS id, token, attempts AS attempt, prices, quoted_units AS "quotedUnits",
      report_to AS "reportTo", checkpoint, CASE WHEN kept THEN ${notify(sql`leased.id`)} END,
      ${gaveWay} OR EXISTS (SELECT FROM jobs job WHERE job.id = asked.job_id AND job.state = 'queued'
        AND EXISTS (SELECT FROM jobs WHERE modality = job.modality AND model = job.model
          AND id <> job.id AND ${HELD_BACK})) AS "othersWait"
    FROM asked LEFT JOIN leased ON leased.id = asked.job_id`.execute(db);
  return new Map(rows.map((row) => [row.id, toAnswer(row)]));
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
