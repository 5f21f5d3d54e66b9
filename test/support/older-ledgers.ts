import { type Db, sql } from "#framemill/front/ledger/database/sql.js";
import type { LedgerMigration } from "#framemill/front/ledger/database/migrations/online.js";
import { MIGRATIONS } from "#framemill/front/ledger/database/migrations/migrations.js";

/** The migrations of a release whose last one this was. */
export function upTo(last: string): Record<string, LedgerMigration> {
  return Object.fromEntries(Object.entries(MIGRATIONS).filter(([name]) => name <= last));
}

/** Completed and charged clips, each with its attempt, as the first schema has them. */
export async function fillOldest(db: Db, jobs: number): Promise<void> {
  const rows = sql`generate_series(1, ${jobs}::int) AS n`;
  await sql`INSERT INTO projects (id, name, requests_per_minute, tokens_per_minute)
    VALUES ('proj_old', 'old', 1000000, 1000000)`.execute(db);
  await sql`INSERT INTO api_keys (id, project_id, name, sha256)
    VALUES ('key_old', 'proj_old', 'old', 'none')`.execute(db);
  await sql`INSERT INTO jobs (id, project_id, api_key_id, modality, model, request, state, token,
      attempts, unit, unit_micro_usd, units, amount_micro_usd, body_hash, created_at, started_at,
      ended_at, expires_at, deadline_at, republish_after, files_removed)
    SELECT 'video_' || md5(n::text), 'proj_old', 'key_old', 'video', 'service-motion-1',
      '{"prompt": "a fox in the snow", "quality": "standard"}', 'completed', 1, 1, 'video_second',
      180000, 4, 720000, md5(n::text), at, at, at + interval '9 seconds', at + interval '1 day',
      at + interval '1 hour', at, true
    FROM (SELECT n, now() - n * interval '2 seconds' AS at FROM ${rows}) made`.execute(db);
  await sql`INSERT INTO charges (job_id, project_id, unit_micro_usd, units, amount_micro_usd, gpu_ms,
      created_at)
    SELECT id, project_id, 180000, 4, 720000, 9000, ended_at FROM jobs`.execute(db);
  await sql`INSERT INTO attempts (job_id, token, worker_id, outcome, gpu_ms, started_at, ended_at)
    SELECT id, 1, 'worker-1', 'completed', 9000, started_at, ended_at FROM jobs`.execute(db);
}

/** A job of the statement that fronts of the first schema had. */
export async function insertAsOldest(db: Db, id: string): Promise<void> {
  await sql`INSERT INTO jobs (id, project_id, api_key_id, modality, model, request, unit,
      unit_micro_usd, units, amount_micro_usd, body_hash, deadline_at, republish_after)
    VALUES (${id}, 'proj_old', 'key_old', 'video', 'service-motion-1', '{"quality": "standard"}',
      'video_second', 180000, 4, 720000, ${id}, now(), now())`.execute(db);
}

/** Columns, indexes, constraints and triggers, in an order that does not tell how they came. */
export async function readShape(db: Db): Promise<string[]> {
  const { rows } = await sql<{ part: string }>`
    SELECT concat_ws(' ', table_name, column_name, data_type, is_nullable, column_default) AS part
      FROM information_schema.columns WHERE table_schema = 'public'
    UNION ALL SELECT indexdef FROM pg_indexes WHERE schemaname = 'public'
    UNION ALL SELECT conrelid::regclass || ' ' || pg_get_constraintdef(oid) FROM pg_constraint
      WHERE connamespace = 'public'::regnamespace
    UNION ALL SELECT tgname FROM pg_trigger WHERE NOT tgisinternal
    ORDER BY part`.execute(db);
  return rows.map(({ part }) => part);
}
