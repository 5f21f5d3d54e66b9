import { sql } from "../sql.js";
import type { OnlineMigration } from "./migration.js";

const TABLES = [
  // What ended before totals_rollup.rolled_until; charges have their own.
  sql`CREATE TABLE IF NOT EXISTS job_totals (
    model text NOT NULL,
    tier text NOT NULL,
    state text NOT NULL,
    jobs bigint NOT NULL,
    uncharged bigint NOT NULL,
    PRIMARY KEY (model, tier, state)
  )`,
  sql`CREATE TABLE IF NOT EXISTS attempt_totals (
    outcome text PRIMARY KEY,
    attempts bigint NOT NULL,
    gpu_ms bigint NOT NULL
  )`,
  // One row.
  sql`CREATE TABLE IF NOT EXISTS totals_rollup (
    is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only),
    rolled_until timestamptz NOT NULL
  )`,
];

/** A minute covers what has a time and is not committed yet. */
const SUMS = [
  sql`DELETE FROM totals_rollup`,
  sql`DELETE FROM job_totals`,
  sql`DELETE FROM attempt_totals`,
  sql`INSERT INTO totals_rollup (rolled_until) VALUES (now() - interval '1 minute')`,
  sql`INSERT INTO job_totals SELECT jobs.model, jobs.tier, state, count(*),
      count(*) FILTER (WHERE state = 'completed' AND charges.job_id IS NULL)
    FROM totals_rollup, jobs LEFT JOIN charges ON charges.job_id = jobs.id
    WHERE ended_at < rolled_until GROUP BY jobs.model, jobs.tier, state`,
  sql`INSERT INTO attempt_totals SELECT outcome, count(*), sum(gpu_ms)
    FROM totals_rollup, attempts
    WHERE outcome IS NOT NULL AND ended_at < rolled_until GROUP BY outcome`,
];

/** How many jobs and attempts ended and how, so that nobody counts them all again. */
export const totals: OnlineMigration = {
  async online({ db, change, createIndex }) {
    await change(...TABLES);
    const ended = sql`(ended_at) WHERE ended_at IS NOT NULL`;
    await createIndex({ name: "attempts_ended", table: "attempts", definition: ended });
    const open = sql`(started_at) WHERE outcome IS NULL`;
    await createIndex({ name: "attempts_open", table: "attempts", definition: open });
    await db.transaction(async (trx) => {
      for (const statement of SUMS) await statement.execute(trx);
    });
  },
};
