import { sql } from "../sql.js";
import type { QuickMigration } from "./migration.js";

/** Amounts in nano-dollars, charges by tier and key, and their sums by the hour. */
export const nanoUsage: QuickMigration = [
  // Null in rows of a front of before: those read as micro-dollars × 1000.
  sql`ALTER TABLE jobs ADD COLUMN amount_nano_usd bigint`,
  sql`ALTER TABLE charges
    ADD COLUMN amount_nano_usd bigint,
    ADD COLUMN api_key_id text,
    ADD COLUMN tier text`,
  // Empty words stand for what was not noted: a key's columns hold no null.
  sql`CREATE TABLE usage_hours (
    project_id text NOT NULL REFERENCES projects (id),
    hour timestamptz NOT NULL,
    api_key_id text NOT NULL,
    modality text NOT NULL,
    model text NOT NULL,
    tier text NOT NULL,
    jobs bigint NOT NULL,
    amount_nano_usd bigint NOT NULL,
    gpu_ms bigint NOT NULL,
    input_tokens double precision NOT NULL,
    output_tokens double precision NOT NULL,
    images double precision NOT NULL,
    audio_seconds double precision NOT NULL,
    video_seconds double precision NOT NULL,
    characters double precision NOT NULL,
    searches double precision NOT NULL,
    PRIMARY KEY (project_id, hour, api_key_id, modality, model, tier)
  )`,
  sql`CREATE INDEX usage_hours_times ON usage_hours (hour)`,
  // One row: charges before that moment are in usage_hours, and their sums here.
  sql`CREATE TABLE usage_rollup (
    is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only),
    rolled_until timestamptz NOT NULL DEFAULT 'epoch',
    charges bigint NOT NULL DEFAULT 0,
    amount_nano_usd bigint NOT NULL DEFAULT 0
  )`,
  sql`INSERT INTO usage_rollup DEFAULT VALUES`,
];
