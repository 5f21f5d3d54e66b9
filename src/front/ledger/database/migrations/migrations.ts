import { MIGRATIONS_OF_2026_11_21 } from "./2026-11-21.js";
import { MIGRATIONS_OF_2026_11_22 } from "./2026-11-22.js";
import { MIGRATIONS_OF_2026_11_23 } from "./2026-11-23.js";
import { MIGRATIONS_OF_2026_11_24 } from "./2026-11-24.js";
import { MIGRATIONS_OF_2026_11_25 } from "./2026-11-25.js";
import type { LedgerMigration } from "./online.js";

/** Every schema change by name, in whose order they run; the database remembers it by its name. */
export const MIGRATIONS: Readonly<Record<string, LedgerMigration>> = {
  ...MIGRATIONS_OF_2026_11_21,
  ...MIGRATIONS_OF_2026_11_22,
  ...MIGRATIONS_OF_2026_11_23,
  ...MIGRATIONS_OF_2026_11_24,
  ...MIGRATIONS_OF_2026_11_25,
};
