import { sql, type Kysely, type Migration } from "kysely";

const STATEMENTS = [
  sql`ALTER TABLE jobs
    ADD COLUMN prices jsonb,
    ADD COLUMN quoted_units jsonb,
    ADD COLUMN tier text NOT NULL DEFAULT '',
    ADD COLUMN request_file jsonb,
    ADD COLUMN report_to text,
    ADD COLUMN kept boolean NOT NULL DEFAULT true`,
  sql`UPDATE jobs SET prices = jsonb_build_object('videoSeconds', unit_micro_usd),
    quoted_units = jsonb_build_object('videoSeconds', units),
    tier = coalesce(request->>'quality', '')`,
  sql`ALTER TABLE jobs
    ALTER COLUMN prices SET NOT NULL,
    ALTER COLUMN quoted_units SET NOT NULL,
    DROP COLUMN unit,
    DROP COLUMN unit_micro_usd`,
  sql`ALTER TABLE jobs RENAME COLUMN units TO work`,
  sql`ALTER TABLE charges ADD COLUMN prices jsonb, ADD COLUMN counted_units jsonb`,
  sql`UPDATE charges SET prices = jsonb_build_object('videoSeconds', unit_micro_usd),
    counted_units = jsonb_build_object('videoSeconds', units)`,
  sql`ALTER TABLE charges
    ALTER COLUMN prices SET NOT NULL,
    ALTER COLUMN counted_units SET NOT NULL,
    DROP COLUMN unit_micro_usd,
    DROP COLUMN units`,
  sql`CREATE INDEX jobs_remembered ON jobs (ended_at) WHERE NOT kept AND request <> '{}'::jsonb`,
  sql`CREATE INDEX jobs_forgotten ON jobs (ended_at) WHERE NOT kept`,
  sql`CREATE INDEX jobs_answering ON jobs (report_to) WHERE state IN ('queued', 'in_progress')`,
  sql`CREATE INDEX jobs_stored ON jobs (modality, ended_at) WHERE kept`,
  sql`CREATE INDEX jobs_deleted ON jobs (deleted_at) WHERE deleted_at IS NOT NULL`,
  sql`CREATE TABLE secrets (
    name text PRIMARY KEY,
    value bytea NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now()
  )`,
];

/** Prices of several units, requests that lie in a file, answers that are not kept, signed links. */
export const replies: Migration = {
  async up(db: Kysely<unknown>) {
    for (const statement of STATEMENTS) await statement.execute(db);
  },
};
