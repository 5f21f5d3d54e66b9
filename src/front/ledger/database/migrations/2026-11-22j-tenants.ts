import { sql } from "../sql.js";
import type { QuickMigration } from "./migration.js";

/** Who did what by the admin routes and the command line, and projects that are to be erased. */
export const tenants: QuickMigration = [
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
