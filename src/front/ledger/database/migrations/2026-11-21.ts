import { sql } from "../sql.js";
import type { LedgerMigration, OnlineMigration, QuickMigration, NewIndex } from "./online.js";

/** Projects, keys, jobs, outbox, charges, attempts and rate limits. */
const ledger: QuickMigration = [
  sql`CREATE TABLE projects (
    id text PRIMARY KEY,
    name text NOT NULL,
    requests_per_minute integer NOT NULL,
    tokens_per_minute integer NOT NULL,
    monthly_limit_micro_usd bigint,
    created_at timestamptz NOT NULL DEFAULT now()
  )`,
  sql`CREATE TABLE api_keys (
    id text PRIMARY KEY,
    project_id text NOT NULL REFERENCES projects (id),
    name text NOT NULL,
    sha256 text NOT NULL UNIQUE,
    created_at timestamptz NOT NULL DEFAULT now(),
    revoked_at timestamptz
  )`,
  sql`CREATE TABLE jobs (
    seq bigint GENERATED ALWAYS AS IDENTITY UNIQUE,
    id text PRIMARY KEY,
    project_id text NOT NULL REFERENCES projects (id),
    api_key_id text NOT NULL REFERENCES api_keys (id),
    modality text NOT NULL,
    model text NOT NULL,
    request jsonb NOT NULL,
    state text NOT NULL DEFAULT 'queued'
      CHECK (state IN ('queued', 'in_progress', 'completed', 'failed')),
    token integer NOT NULL DEFAULT 0,
    attempts integer NOT NULL DEFAULT 0,
    crashes integer NOT NULL DEFAULT 0,
    preemptions integer NOT NULL DEFAULT 0,
    lapses integer NOT NULL DEFAULT 0,
    lease_until timestamptz,
    worker_id text,
    progress integer NOT NULL DEFAULT 0 CHECK (progress BETWEEN 0 AND 100),
    stage text,
    unit text NOT NULL,
    unit_micro_usd bigint NOT NULL,
    units double precision NOT NULL,
    amount_micro_usd bigint NOT NULL,
    idempotency_key text,
    body_hash text NOT NULL,
    traceparent text,
    artifacts jsonb NOT NULL DEFAULT '[]',
    checkpoint jsonb,
    output jsonb,
    usage jsonb,
    failure jsonb,
    created_at timestamptz NOT NULL DEFAULT now(),
    started_at timestamptz,
    ended_at timestamptz,
    expires_at timestamptz,
    deadline_at timestamptz NOT NULL,
    republish_after timestamptz NOT NULL,
    files_removed boolean NOT NULL DEFAULT false,
    deleted_at timestamptz
  )`,
  sql`CREATE UNIQUE INDEX jobs_idempotency ON jobs (project_id, idempotency_key)
    WHERE idempotency_key IS NOT NULL`,
  sql`CREATE INDEX jobs_repeats ON jobs (api_key_id, body_hash, created_at)`,
  sql`CREATE INDEX jobs_lists ON jobs (project_id, modality, seq) WHERE deleted_at IS NULL`,
  sql`CREATE INDEX jobs_queued ON jobs (modality, model, seq) WHERE state = 'queued'`,
  sql`CREATE INDEX jobs_open ON jobs (project_id) WHERE state IN ('queued', 'in_progress')`,
  sql`CREATE INDEX jobs_republish ON jobs (republish_after)
    WHERE state IN ('queued', 'in_progress')`,
  sql`CREATE INDEX jobs_removal ON jobs (ended_at) WHERE NOT files_removed`,
  sql`CREATE TABLE outbox (
    job_id text PRIMARY KEY REFERENCES jobs (id) ON DELETE CASCADE,
    locked_until timestamptz NOT NULL DEFAULT now(),
    created_at timestamptz NOT NULL DEFAULT now()
  )`,
  sql`CREATE TABLE charges (
    job_id text PRIMARY KEY,
    project_id text NOT NULL REFERENCES projects (id),
    unit_micro_usd bigint NOT NULL,
    units double precision NOT NULL,
    amount_micro_usd bigint NOT NULL CHECK (amount_micro_usd >= 0),
    gpu_ms bigint NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now()
  )`,
  sql`CREATE INDEX charges_months ON charges (project_id, created_at)`,
  sql`CREATE TABLE attempts (
    job_id text NOT NULL,
    token integer NOT NULL,
    worker_id text NOT NULL,
    outcome text,
    gpu_ms bigint NOT NULL DEFAULT 0,
    started_at timestamptz NOT NULL DEFAULT now(),
    ended_at timestamptz,
    PRIMARY KEY (job_id, token)
  )`,
  sql`CREATE INDEX attempts_finished ON attempts (ended_at DESC) WHERE outcome = 'completed'`,
  // Unlogged: a count costs no disk flush, and a crash of the database may forget a minute.
  sql`CREATE UNLOGGED TABLE rate_limits (
    key varchar(255) PRIMARY KEY,
    points integer NOT NULL DEFAULT 0,
    expire bigint
  )`,
];

const TABLES = [
  sql`ALTER TABLE jobs
    ADD COLUMN IF NOT EXISTS prices jsonb,
    ADD COLUMN IF NOT EXISTS quoted_units jsonb,
    ADD COLUMN IF NOT EXISTS tier text NOT NULL DEFAULT '',
    ADD COLUMN IF NOT EXISTS request_file jsonb,
    ADD COLUMN IF NOT EXISTS report_to text,
    ADD COLUMN IF NOT EXISTS kept boolean NOT NULL DEFAULT true,
    ADD COLUMN IF NOT EXISTS work double precision,
    ALTER COLUMN unit DROP NOT NULL,
    ALTER COLUMN unit_micro_usd DROP NOT NULL,
    ALTER COLUMN units DROP NOT NULL`,
  sql`CREATE OR REPLACE FUNCTION bridge_job_units() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    IF NEW.prices IS NULL THEN
      NEW.prices := jsonb_build_object('videoSeconds', NEW.unit_micro_usd);
      NEW.quoted_units := jsonb_build_object('videoSeconds', NEW.units);
      NEW.tier := coalesce(NEW.request->>'quality', '');
      NEW.work := NEW.units;
    ELSE
      NEW.unit := 'video_second';
      NEW.unit_micro_usd := coalesce((NEW.prices->>'videoSeconds')::bigint, 0);
      NEW.units := NEW.work;
    END IF;
    RETURN NEW; END $$`,
  sql`DROP TRIGGER IF EXISTS bridge_units ON jobs`,
  sql`CREATE TRIGGER bridge_units BEFORE INSERT ON jobs
    FOR EACH ROW EXECUTE FUNCTION bridge_job_units()`,
];

const CHARGES = [
  sql`ALTER TABLE charges
    ADD COLUMN IF NOT EXISTS prices jsonb,
    ADD COLUMN IF NOT EXISTS counted_units jsonb,
    ALTER COLUMN unit_micro_usd DROP NOT NULL,
    ALTER COLUMN units DROP NOT NULL`,
  sql`CREATE OR REPLACE FUNCTION bridge_charge_units() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    IF NEW.prices IS NULL THEN
      NEW.prices := jsonb_build_object('videoSeconds', NEW.unit_micro_usd);
      NEW.counted_units := jsonb_build_object('videoSeconds', NEW.units);
    ELSE
      NEW.unit_micro_usd := coalesce((NEW.prices->>'videoSeconds')::bigint, 0);
      NEW.units := coalesce((NEW.counted_units->>'videoSeconds')::double precision, 0);
    END IF;
    RETURN NEW; END $$`,
  sql`DROP TRIGGER IF EXISTS bridge_units ON charges`,
  sql`CREATE TRIGGER bridge_units BEFORE INSERT ON charges
    FOR EACH ROW EXECUTE FUNCTION bridge_charge_units()`,
];

const INDEXES: readonly Omit<NewIndex, "table">[] = [
  {
    name: "jobs_remembered",
    definition: sql`(ended_at) WHERE NOT kept AND request <> '{}'::jsonb`,
  },
  { name: "jobs_forgotten", definition: sql`(ended_at) WHERE NOT kept` },
  {
    name: "jobs_answering",
    definition: sql`(report_to) WHERE state IN ('queued', 'in_progress')`,
  },
  { name: "jobs_stored", definition: sql`(modality, ended_at) WHERE kept` },
  { name: "jobs_deleted", definition: sql`(deleted_at) WHERE deleted_at IS NOT NULL` },
];

/**
 * Prices of several units, requests that lie in a file, answers that are not kept, signed links. The
 * columns of the one unit stay, filled by triggers, while fronts that know no others are at work;
 * 2026-11-22g-one-unit takes them away.
 */
const replies: OnlineMigration = {
  async online({ change, fill, requireValues, createIndex }) {
    await change(...TABLES);
    await change(...CHARGES);
    await change(sql`CREATE TABLE IF NOT EXISTS secrets (
      name text PRIMARY KEY,
      value bytea NOT NULL,
      created_at timestamptz NOT NULL DEFAULT now()
    )`);
    await fill({
      table: "jobs",
      key: "seq",
      where: sql`jobs.prices IS NULL`,
      set: sql`prices = jsonb_build_object('videoSeconds', unit_micro_usd),
        quoted_units = jsonb_build_object('videoSeconds', units),
        tier = coalesce(request->>'quality', ''), work = units`,
    });
    await fill({
      table: "charges",
      key: "job_id",
      where: sql`charges.prices IS NULL`,
      set: sql`prices = jsonb_build_object('videoSeconds', unit_micro_usd),
        counted_units = jsonb_build_object('videoSeconds', units)`,
    });
    await requireValues("jobs", ["prices", "quoted_units", "work"]);
    await requireValues("charges", ["prices", "counted_units"]);
    for (const index of INDEXES) await createIndex({ ...index, table: "jobs" });
  },
};

const TURNS_COLUMNS = [
  sql`ALTER TABLE projects ADD COLUMN IF NOT EXISTS weight double precision NOT NULL DEFAULT 1
    CHECK (weight > 0)`,
  sql`ALTER TABLE jobs ADD COLUMN IF NOT EXISTS turn double precision NOT NULL DEFAULT 0`,
  // Jobs that are there have gone to the queue: a default gives them a time without a rewrite.
  sql`ALTER TABLE jobs ADD COLUMN IF NOT EXISTS released_at timestamptz DEFAULT now()`,
  sql`ALTER TABLE jobs ALTER COLUMN released_at DROP DEFAULT`,
];

/** Fronts of before send each job to the queue at once; theirs are known by the columns they fill. */
const RELEASE_AT_ONCE = [
  sql`CREATE OR REPLACE FUNCTION bridge_job_turns() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    NEW.released_at := now(); RETURN NEW; END $$`,
  sql`DROP TRIGGER IF EXISTS bridge_turns ON jobs`,
  sql`CREATE TRIGGER bridge_turns BEFORE INSERT ON jobs
    FOR EACH ROW WHEN (NEW.prices IS NULL) EXECUTE FUNCTION bridge_job_turns()`,
];

const WAITING = sql`(modality, model, project_id, seq) WHERE state = 'queued'`;
const SERVED = sql`(modality, model, project_id, turn) WHERE token > 0`;
const TURNS = sql`(modality, model, turn) WHERE token > 0`;

/** Projects take turns: what waits in the ledger, and what the queue holds. */
const turns: OnlineMigration = {
  async online({ change, createIndex }) {
    await change(...TURNS_COLUMNS, ...RELEASE_AT_ONCE);
    await createIndex({ name: "jobs_waiting", table: "jobs", definition: WAITING });
    await createIndex({ name: "jobs_served", table: "jobs", definition: SERVED });
    await createIndex({ name: "jobs_turns", table: "jobs", definition: TURNS });
  },
};

const WEBHOOKS_COLUMNS = [
  sql`ALTER TABLE projects ADD COLUMN IF NOT EXISTS webhook_secret text`,
  sql`ALTER TABLE jobs
    ADD COLUMN IF NOT EXISTS webhook_url text,
    ADD COLUMN IF NOT EXISTS webhook_attempts integer NOT NULL DEFAULT 0,
    ADD COLUMN IF NOT EXISTS webhook_at timestamptz`,
];

/** Whom to tell that a job has ended. */
const webhooks: OnlineMigration = {
  async online({ change, createIndex }) {
    await change(...WEBHOOKS_COLUMNS);
    const definition = sql`(webhook_at) WHERE webhook_at IS NOT NULL`;
    await createIndex({ name: "jobs_webhooks", table: "jobs", definition });
  },
};

/** In the order of their names. */
export const MIGRATIONS_OF_2026_11_21: Readonly<Record<string, LedgerMigration>> = {
  "2026-11-21-ledger": ledger,
  "2026-11-21-replies": replies,
  "2026-11-21-turns": turns,
  "2026-11-21-webhooks": webhooks,
};
