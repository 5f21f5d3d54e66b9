import type { Migration } from "kysely";
import { ledger } from "./2026-11-21-ledger.js";
import { replies } from "./2026-11-21-replies.js";

/** Every schema change in order; the name is the key under which the database remembers it. */
export const MIGRATIONS: Readonly<Record<string, Migration>> = {
  "2026-11-21-ledger": ledger,
  "2026-11-21-replies": replies,
};
