import { sql } from "../sql.js";
import type { OnlineMigration } from "./migration.js";

/** What a charge was for. Charges outlive their jobs: those without one, or of a front of before, have none. */
export const chargedModels: OnlineMigration = {
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
