import { sql } from "../sql.js";
import type { QuickMigration } from "./migration.js";

/** Projects, keys, jobs, outbox, charges, attempts and rate limits. */
export const ledger: QuickMigration = [
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
