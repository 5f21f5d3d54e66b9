import { sql } from "../sql.js";
import type { LedgerMigration, OnlineMigration } from "./online.js";

/** What each state says of token, lease and times; docs/job-states.md has them in words. */
const CHECKS = {
  jobs_states: sql`CASE state
    WHEN 'queued' THEN token = 0 AND lease_until IS NULL AND ended_at IS NULL
    WHEN 'in_progress' THEN token > 0 AND released_at IS NOT NULL AND ended_at IS NULL
    WHEN 'completed' THEN token > 0 AND lease_until IS NULL AND ended_at IS NOT NULL
    ELSE lease_until IS NULL AND ended_at IS NOT NULL END`,
  jobs_starts: sql`(token > 0) = (started_at IS NOT NULL)`,
  jobs_holders: sql`(lease_until IS NULL) = (worker_id IS NULL)`,
  jobs_failures: sql`failure IS NULL OR state = 'failed'`,
  jobs_deletions: sql`deleted_at IS NULL OR ended_at IS NOT NULL`,
} as const;

const IS_LEGAL = sql.join(
  Object.values(CHECKS).map((check) => sql`(${check})`),
  " AND ",
);

/**
 * Rows that tie state, lease and times, or are refused. No release has written others; what was changed by
 * hand is put right first, without a token that falls and without an end that is undone.
 */
const jobStates: OnlineMigration = {
  async online({ fill, addChecks }) {
    await fill({
      table: "jobs",
      key: "seq",
      where: sql`NOT (${IS_LEGAL})`,
      set: sql`
        state = CASE WHEN state = 'completed' AND token = 0 THEN 'failed'
          WHEN state IN ('completed', 'failed') THEN state
          WHEN ended_at IS NOT NULL OR deleted_at IS NOT NULL THEN 'failed'
          WHEN token > 0 THEN 'in_progress' ELSE 'queued' END,
        ended_at = CASE WHEN state IN ('completed', 'failed') OR deleted_at IS NOT NULL
          THEN coalesce(ended_at, now()) ELSE ended_at END,
        released_at = CASE WHEN token > 0 THEN coalesce(released_at, now()) ELSE released_at END,
        started_at = CASE WHEN token > 0 THEN coalesce(started_at, created_at) END,
        failure = CASE WHEN state = 'failed' THEN failure END,
        lease_until = NULL, worker_id = NULL`,
    });
    await addChecks("jobs", CHECKS);
  },
};

/** In the order of their names. */
export const MIGRATIONS_OF_2026_11_23: Readonly<Record<string, LedgerMigration>> = {
  "2026-11-23a-job-states": jobStates,
};
