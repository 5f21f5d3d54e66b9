import { sql } from "../sql.js";
import type { OnlineMigration } from "./migration.js";

/** Completed jobs whose earlier attempts may have left files behind. */
export const leftovers: OnlineMigration = {
  async online({ change, createIndex }) {
    await change(
      sql`ALTER TABLE jobs ADD COLUMN IF NOT EXISTS has_leftovers boolean NOT NULL DEFAULT false`,
    );
    const definition = sql`(ended_at) WHERE has_leftovers`;
    await createIndex({ name: "jobs_leftovers", table: "jobs", definition });
  },
};
