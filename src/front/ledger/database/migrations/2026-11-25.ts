import { sql } from "../sql.js";
import type { LedgerMigration, OnlineMigration } from "./online.js";

const QUEUED = sql`(modality, model, service_tier, seq) WHERE state = 'queued'`;
const WAITING = sql`(modality, model, service_tier, project_id, seq) WHERE state = 'queued'`;
const SERVED = sql`(modality, model, service_tier, project_id, turn) WHERE token > 0`;
const TURNS = sql`(modality, model, service_tier, turn) WHERE token > 0`;

/** How soon a job is wanted: each service tier of a model has a queue of its own. */
const serviceTiers: OnlineMigration = {
  async online({ change, replaceIndex }) {
    // Rows that are there, and those of fronts of before, are of the usual tier.
    await change(
      sql`ALTER TABLE jobs ADD COLUMN IF NOT EXISTS service_tier text NOT NULL DEFAULT 'default'`,
    );
    await change(
      sql`ALTER TABLE charges ADD COLUMN IF NOT EXISTS service_tier text NOT NULL DEFAULT 'default'`,
    );
    await replaceIndex({ name: "jobs_queued", table: "jobs", definition: QUEUED });
    await replaceIndex({ name: "jobs_waiting", table: "jobs", definition: WAITING });
    await replaceIndex({ name: "jobs_served", table: "jobs", definition: SERVED });
    await replaceIndex({ name: "jobs_turns", table: "jobs", definition: TURNS });
  },
};

/** In the order of their names. */
export const MIGRATIONS_OF_2026_11_25: Readonly<Record<string, LedgerMigration>> = {
  "2026-11-25a-service-tiers": serviceTiers,
};
