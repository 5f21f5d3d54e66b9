import { sql, type Kysely, type Migration } from "kysely";

const STATEMENTS = [
  sql`ALTER TABLE projects ADD COLUMN webhook_secret text`,
  sql`ALTER TABLE jobs
    ADD COLUMN webhook_url text,
    ADD COLUMN webhook_attempts integer NOT NULL DEFAULT 0,
    ADD COLUMN webhook_at timestamptz`,
  sql`CREATE INDEX jobs_webhooks ON jobs (webhook_at) WHERE webhook_at IS NOT NULL`,
];

/** Whom to tell that a job has ended. */
export const webhooks: Migration = {
  async up(db: Kysely<unknown>) {
    for (const statement of STATEMENTS) await statement.execute(db);
  },
};
