import { sql, type Kysely, type Migration } from "kysely";

const STATEMENTS = [
  // Charges outlive their jobs. Null in rows of a front of before.
  sql`ALTER TABLE charges ADD COLUMN modality text, ADD COLUMN model text`,
  sql`UPDATE charges SET modality = jobs.modality, model = jobs.model
    FROM jobs WHERE jobs.id = charges.job_id`,
];

/** What a charge was for. */
export const chargedModels: Migration = {
  async up(db: Kysely<unknown>) {
    for (const statement of STATEMENTS) await statement.execute(db);
  },
};
