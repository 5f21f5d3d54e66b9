import { sql, type Kysely, type Migration } from "kysely";

const STATEMENTS = [
  sql`CREATE TABLE workers (
    id text PRIMARY KEY,
    status jsonb NOT NULL,
    seen_at timestamptz NOT NULL
  )`,
  // Apart from the rows above, which come and go with the processes.
  sql`CREATE TABLE drained_workers (
    id text PRIMARY KEY,
    created_at timestamptz NOT NULL DEFAULT now()
  )`,
  sql`CREATE INDEX jobs_worker ON jobs (worker_id) WHERE state = 'in_progress'`,
];

/** Workers that announce themselves, and those that an operator wants drained. */
export const workers: Migration = {
  async up(db: Kysely<unknown>) {
    for (const statement of STATEMENTS) await statement.execute(db);
  },
};
