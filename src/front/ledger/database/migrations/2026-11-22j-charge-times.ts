import { sql } from "../sql.js";
import type { OnlineMigration } from "./migration.js";

/** Charges by their time: what no hour of usage_hours has summed yet. */
export const chargeTimes: OnlineMigration = {
  async online({ createIndex }) {
    await createIndex({ name: "charges_times", table: "charges", definition: sql`(created_at)` });
  },
};
