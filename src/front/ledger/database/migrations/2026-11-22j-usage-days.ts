import { sql } from "../sql.js";
import type { QuickMigration } from "./migration.js";

/** The sums of hours by the day: a month of many kinds is read from some thousand rows. */
export const usageDays: QuickMigration = [
  // Nobody sums meanwhile.
  sql`SELECT FROM usage_rollup FOR UPDATE`,
  sql`CREATE TABLE usage_days (LIKE usage_hours)`,
  sql`ALTER TABLE usage_days RENAME COLUMN hour TO day`,
  sql`ALTER TABLE usage_days ADD PRIMARY KEY (project_id, day, api_key_id, modality, model, tier)`,
  sql`CREATE INDEX usage_days_times ON usage_days (day)`,
  sql`INSERT INTO usage_days (project_id, day, api_key_id, modality, model, tier, jobs,
      amount_nano_usd, gpu_ms, input_tokens, output_tokens, images, audio_seconds, video_seconds,
      characters, searches)
    SELECT project_id, date_trunc('day', hour AT TIME ZONE 'UTC') AT TIME ZONE 'UTC', api_key_id,
      modality, model, tier, sum(jobs), sum(amount_nano_usd), sum(gpu_ms), sum(input_tokens),
      sum(output_tokens), sum(images), sum(audio_seconds), sum(video_seconds), sum(characters),
      sum(searches)
    FROM usage_hours GROUP BY 1, 2, 3, 4, 5, 6`,
];
