import { sql } from "../sql.js";
import type { LedgerMigration, OnlineMigration, QuickMigration } from "./online.js";

/** What workers' time costs, what it was used for, and what the scaler has asked for. */
const gpuCost: QuickMigration = [
  // Days are UTC. One row for each price and choice of models that a worker had within a day.
  sql`CREATE TABLE worker_days (
    day date NOT NULL,
    worker_id text NOT NULL,
    nano_usd_per_hour bigint NOT NULL,
    models text NOT NULL,
    paid_us bigint NOT NULL,
    starting_us bigint NOT NULL,
    busy_us bigint NOT NULL,
    PRIMARY KEY (day, worker_id, nano_usd_per_hour, models),
    CHECK (starting_us >= 0 AND busy_us >= 0 AND starting_us + busy_us <= paid_us)
  )`,
  // Of attempts, by the day of their end.
  sql`CREATE TABLE work_days (
    day date NOT NULL,
    worker_id text NOT NULL,
    project_id text NOT NULL,
    modality text NOT NULL,
    model text NOT NULL,
    tier text NOT NULL,
    service_tier text NOT NULL,
    worked_ms bigint NOT NULL,
    lost_ms bigint NOT NULL,
    PRIMARY KEY (day, worker_id, project_id, modality, model, tier, service_tier)
  )`,
  // What a pool of workers may cost an hour, as each of its metrics was last granted.
  sql`CREATE TABLE scaler_grants (
    pool text NOT NULL,
    metric text NOT NULL,
    nano_usd_per_hour bigint NOT NULL,
    granted_until timestamptz NOT NULL,
    PRIMARY KEY (pool, metric)
  )`,
];

/** Until when a worker must have begun a job, where its caller says so. */
const startDeadlines: OnlineMigration = {
  async online({ change, createIndex }) {
    await change(sql`ALTER TABLE jobs ADD COLUMN IF NOT EXISTS start_deadline_at timestamptz`);
    await createIndex({
      name: "jobs_start_deadlines",
      table: "jobs",
      definition: sql`(start_deadline_at) WHERE state = 'queued' AND start_deadline_at IS NOT NULL`,
    });
  },
};

/** In the order of their names. */
export const MIGRATIONS_OF_2026_11_24: Readonly<Record<string, LedgerMigration>> = {
  "2026-11-24a-gpu-cost": gpuCost,
  "2026-11-24b-start-deadlines": startDeadlines,
};
