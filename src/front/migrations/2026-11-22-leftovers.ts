import { sql, type Kysely, type Migration } from "kysely";

const STATEMENTS = [
  sql`ALTER TABLE jobs ADD COLUMN has_leftovers boolean NOT NULL DEFAULT false`,
  sql`CREATE INDEX jobs_leftovers ON jobs (ended_at) WHERE has_leftovers`,
];

/** Completed jobs whose earlier attempts may have left files behind. */
export const leftovers: Migration = {
  async up(db: Kysely<unknown>) {
    for (const statement of STATEMENTS) await statement.execute(db);
  },
};
