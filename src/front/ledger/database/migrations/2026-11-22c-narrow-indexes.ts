import { sql } from "../sql.js";
import type { OnlineMigration } from "./migration.js";

/** Of the jobs that wait in the ledger for their turn: mostly none. */
const HELD = sql`(modality, model) WHERE ended_at IS NULL AND released_at IS NULL`;
/** By when files may go, so that those whose time has not come are not looked through. */
const REMOVAL = sql`
  ((CASE WHEN state = 'failed' OR deleted_at IS NOT NULL THEN ended_at ELSE expires_at END))
  WHERE ended_at IS NOT NULL AND NOT files_removed`;
/** Only polled jobs are looked for by what they repeat. */
const REPEATS = sql`(api_key_id, body_hash, created_at) WHERE kept`;

/** Indexes that hold no more than the jobs they are asked for. */
export const narrowIndexes: OnlineMigration = {
  async online({ createIndex, replaceIndex }) {
    await createIndex({ name: "jobs_held", table: "jobs", definition: HELD });
    await replaceIndex({ name: "jobs_removal", table: "jobs", definition: REMOVAL });
    await replaceIndex({ name: "jobs_repeats", table: "jobs", definition: REPEATS });
  },
};
