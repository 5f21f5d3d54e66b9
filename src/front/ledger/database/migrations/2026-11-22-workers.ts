import { sql } from "../sql.js";
import type { OnlineMigration } from "./migration.js";

const TABLES = [
  sql`CREATE TABLE IF NOT EXISTS workers (
    id text PRIMARY KEY,
    status jsonb NOT NULL,
    seen_at timestamptz NOT NULL
  )`,
  // Apart from the rows above, which come and go with the processes.
  sql`CREATE TABLE IF NOT EXISTS drained_workers (
    id text PRIMARY KEY,
    created_at timestamptz NOT NULL DEFAULT now()
  )`,
];

/** Workers that announce themselves, and those that an operator wants drained. */
export const workers: OnlineMigration = {
  async online({ change, createIndex }) {
    await change(...TABLES);
    const definition = sql`(worker_id) WHERE state = 'in_progress'`;
    await createIndex({ name: "jobs_worker", table: "jobs", definition });
  },
};
