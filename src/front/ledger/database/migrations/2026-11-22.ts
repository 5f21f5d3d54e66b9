import { sql } from "../sql.js";
import type { LedgerMigration, OnlineMigration, QuickMigration } from "./online.js";

/** Completed jobs whose earlier attempts may have left files behind. */
const leftovers: OnlineMigration = {
  async online({ change, createIndex }) {
    await change(
      sql`ALTER TABLE jobs ADD COLUMN IF NOT EXISTS has_leftovers boolean NOT NULL DEFAULT false`,
    );
    const definition = sql`(ended_at) WHERE has_leftovers`;
    await createIndex({ name: "jobs_leftovers", table: "jobs", definition });
  },
};

const WORKERS_TABLES = [
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
const workers: OnlineMigration = {
  async online({ change, createIndex }) {
    await change(...WORKERS_TABLES);
    const definition = sql`(worker_id) WHERE state = 'in_progress'`;
    await createIndex({ name: "jobs_worker", table: "jobs", definition });
  },
};

/** What a charge was for. Charges outlive their jobs: those without one, or of a front of before, have none. */
const chargedModels: OnlineMigration = {
  async online({ change, fill }) {
    await change(
      sql`ALTER TABLE charges ADD COLUMN IF NOT EXISTS modality text, ADD COLUMN IF NOT EXISTS model text`,
    );
    await fill({
      table: "charges",
      key: "job_id",
      from: sql`jobs`,
      where: sql`charges.modality IS NULL AND jobs.id = charges.job_id`,
      set: sql`modality = jobs.modality, model = jobs.model`,
    });
  },
};

/** Of the jobs that wait in the ledger for their turn: mostly none. */
const HELD = sql`(modality, model) WHERE ended_at IS NULL AND released_at IS NULL`;
/** By when files may go, so that those whose time has not come are not looked through. */
const REMOVAL = sql`
  ((CASE WHEN state = 'failed' OR deleted_at IS NOT NULL THEN ended_at ELSE expires_at END))
  WHERE ended_at IS NOT NULL AND NOT files_removed`;
/** Only polled jobs are looked for by what they repeat. */
const REPEATS = sql`(api_key_id, body_hash, created_at) WHERE kept`;

/** Indexes that hold no more than the jobs they are asked for. */
const narrowIndexes: OnlineMigration = {
  async online({ createIndex, replaceIndex }) {
    await createIndex({ name: "jobs_held", table: "jobs", definition: HELD });
    await replaceIndex({ name: "jobs_removal", table: "jobs", definition: REMOVAL });
    await replaceIndex({ name: "jobs_repeats", table: "jobs", definition: REPEATS });
  },
};

/** Fronts that announce themselves. */
const fronts: QuickMigration = [
  sql`CREATE TABLE fronts (
    id text PRIMARY KEY,
    grpc_address text NOT NULL,
    seen_at timestamptz NOT NULL DEFAULT now()
  )`,
];

/** Takes away the columns of the one unit that jobs had before 2026-11-21-replies, and their bridges. */
const oneUnit: OnlineMigration = {
  contracts: 1,
  async online({ change }) {
    await change(
      sql`DROP TRIGGER IF EXISTS bridge_turns ON jobs`,
      sql`DROP TRIGGER IF EXISTS bridge_units ON jobs`,
      sql`ALTER TABLE jobs DROP COLUMN IF EXISTS unit, DROP COLUMN IF EXISTS unit_micro_usd,
        DROP COLUMN IF EXISTS units`,
      sql`DROP FUNCTION IF EXISTS bridge_job_turns(), bridge_job_units()`,
    );
    await change(
      sql`DROP TRIGGER IF EXISTS bridge_units ON charges`,
      sql`ALTER TABLE charges DROP COLUMN IF EXISTS unit_micro_usd, DROP COLUMN IF EXISTS units`,
      sql`DROP FUNCTION IF EXISTS bridge_charge_units()`,
    );
  },
};

/** Amounts in nano-dollars, charges by tier and key, and their sums by the hour. */
const nanoUsage: QuickMigration = [
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

/** Charges by their time: what no hour of usage_hours has summed yet. */
const chargeTimes: OnlineMigration = {
  async online({ createIndex }) {
    await createIndex({ name: "charges_times", table: "charges", definition: sql`(created_at)` });
  },
};

/** Who did what by the admin routes and the command line, and projects that are to be erased. */
const tenants: QuickMigration = [
  sql`CREATE TABLE admin_actions (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at timestamptz NOT NULL DEFAULT now(),
    actor text NOT NULL,
    address text,
    action text NOT NULL,
    target text,
    detail jsonb NOT NULL,
    outcome text NOT NULL
  )`,
  sql`ALTER TABLE projects
    ADD COLUMN erasure_asked_at timestamptz,
    ADD COLUMN erased_at timestamptz`,
];

/** The sums of hours by the day: a month of many kinds is read from some thousand rows. */
const usageDays: QuickMigration = [
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

/** How long the latest jobs of each kind took, a unit of work. */
const paces: QuickMigration = [
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

const TOTALS_TABLES = [
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
const totals: OnlineMigration = {
  async online({ db, change, createIndex }) {
    await change(...TOTALS_TABLES);
    const ended = sql`(ended_at) WHERE ended_at IS NOT NULL`;
    await createIndex({ name: "attempts_ended", table: "attempts", definition: ended });
    const open = sql`(started_at) WHERE outcome IS NULL`;
    await createIndex({ name: "attempts_open", table: "attempts", definition: open });
    await db.transaction(async (trx) => {
      for (const statement of SUMS) await statement.execute(trx);
    });
  },
};

/** In the order of their names. */
export const MIGRATIONS_OF_2026_11_22: Readonly<Record<string, LedgerMigration>> = {
  "2026-11-22-leftovers": leftovers,
  "2026-11-22-workers": workers,
  "2026-11-22b-charged-models": chargedModels,
  "2026-11-22c-narrow-indexes": narrowIndexes,
  "2026-11-22d-fronts": fronts,
  "2026-11-22g-one-unit": oneUnit,
  "2026-11-22i-nano-usage": nanoUsage,
  "2026-11-22j-charge-times": chargeTimes,
  "2026-11-22j-tenants": tenants,
  "2026-11-22j-usage-days": usageDays,
  "2026-11-22l-paces": paces,
  "2026-11-22h-totals": totals,
};
