import { sql } from "../sql.js";
import type { OnlineMigration } from "./migration.js";

/** Takes away the columns of the one unit that jobs had before 2026-11-21-replies, and their bridges. */
export const oneUnit: OnlineMigration = {
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
