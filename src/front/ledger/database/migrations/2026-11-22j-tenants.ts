import { sql, type Kysely, type Migration } from "kysely";

const STATEMENTS = [
  sql`CREATE TABLE admin_actions (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at timestamptz NOT NULL DEFAULT now(),
    actor text NOT NULL,
    address text,
    action text NOT NULL,
    target text,
    detail jsonb NOT NULL,
    outcome text NOT NULL
  )`,
  sql`ALTER TABLE projects
    ADD COLUMN erasure_asked_at timestamptz,
    ADD COLUMN erased_at timestamptz`,
];

/** Who did what by the admin routes and the command line, and projects that are to be erased. */
export const tenants: Migration = {
  async up(db: Kysely<unknown>) {
    for (const statement of STATEMENTS) await statement.execute(db);
  },
};
