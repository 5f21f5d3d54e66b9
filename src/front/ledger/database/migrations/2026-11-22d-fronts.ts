import { sql } from "../sql.js";
import type { QuickMigration } from "./migration.js";

/** Fronts that announce themselves. */
export const fronts: QuickMigration = [
  sql`CREATE TABLE fronts (
    id text PRIMARY KEY,
    grpc_address text NOT NULL,
    seen_at timestamptz NOT NULL DEFAULT now()
  )`,
];
