import { sql } from "kysely";
import type { JobState } from "../../core/job.js";
import type { Database } from "../ledger/index.js";
import { groupCommit } from "../../core/async/group-commit.js";

/** What of a job tells whether it has changed. */
export interface WatchedJob {
  readonly state: JobState;
  readonly progress: number;
  readonly stage: string | null;
  /** As a job's record has it: 0 for one that waits no longer. */
  readonly jobs_ahead: number | null;
}

/** Undefined for a job that was deleted. */
export type LookAtJob = (id: string) => Promise<WatchedJob | undefined>;

/** Watchers that one query serves. */
const MOST_TOGETHER = 512;

/** Whoever watches a job looks at it through this: those that look at the same time share one query. */
export function createLookAtJob({ kysely }: Database): LookAtJob {
  const look = groupCommit(async (ids: readonly string[]) => {
    const unique = [...new Set(ids)];
    const { rows } = await sql<WatchedJob & { readonly id: string }>`
      WITH watched AS (
        SELECT id, modality, model, state, progress, stage FROM jobs
        WHERE id = ANY(${unique}::text[]) AND deleted_at IS NULL
      ), ahead AS (
        SELECT q.id, (row_number() OVER (PARTITION BY q.modality, q.model ORDER BY q.seq) - 1)::int
          AS jobs_ahead
        FROM jobs q WHERE q.state = 'queued' AND (q.modality, q.model) IN
          (SELECT modality, model FROM watched WHERE state = 'queued')
      )
      SELECT watched.id, watched.state, watched.progress, watched.stage,
        coalesce(ahead.jobs_ahead, 0) AS jobs_ahead
      FROM watched LEFT JOIN ahead ON ahead.id = watched.id`.execute(kysely);
    const found = new Map(rows.map((row) => [row.id, row]));
    return ids.map((id) => ({ job: found.get(id) }));
  }, MOST_TOGETHER);
  return async (id) => (await look(id)).job;
}
