import { sql, type Kysely, type Migration } from "kysely";

const STATEMENTS = [
  sql`ALTER TABLE projects ADD COLUMN weight double precision NOT NULL DEFAULT 1 CHECK (weight > 0)`,
  sql`ALTER TABLE jobs
    ADD COLUMN turn double precision NOT NULL DEFAULT 0,
    ADD COLUMN released_at timestamptz`,
  sql`UPDATE jobs SET released_at = created_at`,
  sql`CREATE INDEX jobs_waiting ON jobs (modality, model, project_id, seq) WHERE state = 'queued'`,
  sql`CREATE INDEX jobs_served ON jobs (modality, model, project_id, turn) WHERE token > 0`,
  sql`CREATE INDEX jobs_turns ON jobs (modality, model, turn) WHERE token > 0`,
];

/** Projects take turns: what waits in the ledger, and what the queue holds. */
export const turns: Migration = {
  async up(db: Kysely<unknown>) {
    for (const statement of STATEMENTS) await statement.execute(db);
  },
};
