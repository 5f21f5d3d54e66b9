import { sql } from "../sql.js";
import type { OnlineMigration } from "./migration.js";

const COLUMNS = [
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
export const turns: OnlineMigration = {
  async online({ change, createIndex }) {
    await change(...COLUMNS, ...RELEASE_AT_ONCE);
    await createIndex({ name: "jobs_waiting", table: "jobs", definition: WAITING });
    await createIndex({ name: "jobs_served", table: "jobs", definition: SERVED });
    await createIndex({ name: "jobs_turns", table: "jobs", definition: TURNS });
  },
};
