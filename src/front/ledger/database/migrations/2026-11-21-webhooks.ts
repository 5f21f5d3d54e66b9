import { sql } from "../sql.js";
import type { OnlineMigration } from "./migration.js";

const COLUMNS = [
  sql`ALTER TABLE projects ADD COLUMN IF NOT EXISTS webhook_secret text`,
  sql`ALTER TABLE jobs
    ADD COLUMN IF NOT EXISTS webhook_url text,
    ADD COLUMN IF NOT EXISTS webhook_attempts integer NOT NULL DEFAULT 0,
    ADD COLUMN IF NOT EXISTS webhook_at timestamptz`,
];

/** Whom to tell that a job has ended. */
export const webhooks: OnlineMigration = {
  async online({ change, createIndex }) {
    await change(...COLUMNS);
    const definition = sql`(webhook_at) WHERE webhook_at IS NOT NULL`;
    await createIndex({ name: "jobs_webhooks", table: "jobs", definition });
  },
};
