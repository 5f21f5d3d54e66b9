import { sql } from "../sql.js";
import type { QuickMigration } from "./migration.js";

/** How long the latest jobs of each kind took, a unit of work. */
export const paces: QuickMigration = [
  // Newest first, at most PACE_SAMPLE of each.
  sql`CREATE TABLE paces (
    modality text NOT NULL,
    model text NOT NULL,
    tier text NOT NULL,
    worker_seconds double precision[] NOT NULL,
    lasted_seconds double precision[] NOT NULL,
    PRIMARY KEY (modality, model, tier)
  )`,
  // A beginning from the latest attempts, by their index: later ones replace it.
  sql`INSERT INTO paces SELECT modality, model, tier,
      (array_agg(gpu_ms / 1000.0 / work ORDER BY ended_at DESC))[1:50],
      (array_agg(extract(epoch FROM ended_at - started_at) / work ORDER BY ended_at DESC))[1:50]
    FROM (
      SELECT jobs.modality, jobs.model, jobs.tier, jobs.work, latest.*
      FROM (SELECT job_id, gpu_ms, started_at, ended_at FROM attempts
        WHERE outcome = 'completed' ORDER BY ended_at DESC LIMIT 1000) latest
      JOIN jobs ON jobs.id = latest.job_id WHERE jobs.work > 0
    ) runs GROUP BY modality, model, tier`,
];
