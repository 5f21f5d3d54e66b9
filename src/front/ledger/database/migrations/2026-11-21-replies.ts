import { sql } from "../sql.js";
import type { OnlineMigration } from "./migration.js";
import type { NewIndex } from "./online.js";

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
export const replies: OnlineMigration = {
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
