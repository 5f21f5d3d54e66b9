import { sql, type Kysely, type Migration } from "kysely";

const STATEMENTS = [
  // Of the jobs that wait in the ledger for their turn: mostly none.
  sql`CREATE INDEX jobs_held ON jobs (modality, model)
    WHERE ended_at IS NULL AND released_at IS NULL`,
  // By when files may go, so that those whose time has not come are not looked through.
  sql`DROP INDEX jobs_removal`,
  sql`CREATE INDEX jobs_removal ON jobs
    ((CASE WHEN state = 'failed' OR deleted_at IS NOT NULL THEN ended_at ELSE expires_at END))
    WHERE ended_at IS NOT NULL AND NOT files_removed`,
  // Only polled jobs are looked for by what they repeat.
  sql`DROP INDEX jobs_repeats`,
  sql`CREATE INDEX jobs_repeats ON jobs (api_key_id, body_hash, created_at) WHERE kept`,
];

/** Indexes that hold no more than the jobs they are asked for. */
export const narrowIndexes: Migration = {
  async up(db: Kysely<unknown>) {
    for (const statement of STATEMENTS) await statement.execute(db);
  },
};
