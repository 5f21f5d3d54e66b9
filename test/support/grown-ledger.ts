import { type Db, sql } from "#framemill/front/ledger/database/sql.js";

export interface GrownLedger {
  readonly jobs: number;
  /** Over how many days, up to now, the jobs came. */
  readonly days: number;
}

const PROJECTS = 50;
const BATCH = 250_000;

/**
 * Clips of many projects in today's schema: of twenty jobs one failed, of fifty one had an attempt
 * before that ended in silence; the others are charged. Indexes are made afterwards.
 */
export async function growLedger(db: Db, { jobs, days }: GrownLedger): Promise<void> {
  await sql`INSERT INTO projects (id, name, requests_per_minute, tokens_per_minute)
    SELECT 'proj_' || n, 'project ' || n, 600, 200000 FROM generate_series(1, ${PROJECTS}::int) n`.execute(
    db,
  );
  await sql`INSERT INTO api_keys (id, project_id, name, sha256)
    SELECT 'key_' || n, 'proj_' || n, 'key', 'none ' || n
    FROM generate_series(1, ${PROJECTS}::int) n`.execute(db);
  const indexes = await takeIndexes(db);
  const step = (days * 86_400) / jobs;
  for (let from = 1; from <= jobs; from += BATCH)
    await insertJobs(db, from, Math.min(jobs, from + BATCH - 1), step);
  for (const definition of indexes) await sql.raw(definition).execute(db);
  for (const table of ["jobs", "charges", "attempts"])
    await sql`VACUUM (ANALYZE) ${sql.ref(table)}`.execute(db);
}

/** Drops those that hold no constraint, and gives the statements that make them. */
async function takeIndexes(db: Db): Promise<string[]> {
  const { rows } = await sql<{ name: string; definition: string }>`
    SELECT indexname AS name, indexdef AS definition FROM pg_indexes
    WHERE tablename IN ('jobs', 'charges', 'attempts') AND NOT EXISTS (
      SELECT FROM pg_constraint WHERE conname = indexname)`.execute(db);
  for (const { name } of rows) await sql`DROP INDEX ${sql.ref(name)}`.execute(db);
  return rows.map(({ definition }) => definition);
}

async function insertJobs(db: Db, from: number, to: number, stepSeconds: number): Promise<void> {
  await sql`
    WITH made AS (
      SELECT n, 'video_' || md5(n::text) AS id, 1 + n % ${PROJECTS}::int AS project,
        (ARRAY['fast', 'standard', 'high'])[1 + n % 3] AS tier, n % 20 = 0 AS is_failed,
        now() - interval '5 minutes' - n * ${stepSeconds}::double precision * interval '1 second' AS at
      FROM generate_series(${from}::int, ${to}::int) n
    ), job AS (
      INSERT INTO jobs (id, project_id, api_key_id, modality, model, request, tier, state, token,
        attempts, prices, quoted_units, work, turn, amount_micro_usd, body_hash, artifacts, usage,
        failure, created_at, released_at, started_at, ended_at, expires_at, deadline_at,
        republish_after, files_removed)
      SELECT id, 'proj_' || project, 'key_' || project, 'video', 'model-' || n % 5,
        jsonb_build_object('prompt', 'a fox in the snow at sunset', 'seconds', 4, 'quality', tier), tier,
        CASE WHEN is_failed THEN 'failed' ELSE 'completed' END, 1 + (n % 50 = 0)::int,
        1 + (n % 50 = 0)::int, '{"videoSeconds": 180000}', '{"videoSeconds": 4}', 4, n, 720000,
        md5(n::text), '[]', '{"videoSeconds": 4, "gpuMs": 9000}',
        CASE WHEN is_failed THEN '{"code": "inference_crashed", "message": "it crashed"}'::jsonb END,
        at, at, at, at + interval '9 seconds', at + interval '1 day', at + interval '1 hour', at, true
      FROM made
    ), tries AS (
      INSERT INTO attempts (job_id, token, worker_id, outcome, gpu_ms, started_at, ended_at)
      SELECT id, 1 + (n % 50 = 0)::int, 'worker-' || n % 8,
        CASE WHEN is_failed THEN 'inference_crashed' ELSE 'completed' END, 9000, at,
        at + interval '9 seconds' FROM made
      UNION ALL SELECT id, 1, 'worker-' || n % 8, NULL, 0, at, NULL FROM made WHERE n % 50 = 0
    )
    INSERT INTO charges (job_id, project_id, api_key_id, modality, model, tier, prices, counted_units,
      amount_micro_usd, amount_nano_usd, gpu_ms, created_at)
    SELECT id, 'proj_' || project, 'key_' || project, 'video', 'model-' || n % 5, tier,
      '{"videoSeconds": 180000}', '{"videoSeconds": 4}', 720000, 720000000, 9000,
      at + interval '9 seconds'
    FROM made WHERE NOT is_failed`.execute(db);
}
