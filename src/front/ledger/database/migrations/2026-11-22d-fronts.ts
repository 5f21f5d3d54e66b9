import { sql, type Kysely, type Migration } from "kysely";

const STATEMENTS = [
  sql`CREATE TABLE fronts (
    id text PRIMARY KEY,
    grpc_address text NOT NULL,
    seen_at timestamptz NOT NULL DEFAULT now()
  )`,
];

/** Fronts that announce themselves. */
export const fronts: Migration = {
  async up(db: Kysely<unknown>) {
    for (const statement of STATEMENTS) await statement.execute(db);
  },
};
