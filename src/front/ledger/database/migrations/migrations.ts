import { ledger } from "./2026-11-21-ledger.js";
import { chargedModels } from "./2026-11-22b-charged-models.js";
import { usageDays } from "./2026-11-22j-usage-days.js";
import { tenants } from "./2026-11-22j-tenants.js";
import { chargeTimes } from "./2026-11-22j-charge-times.js";
import { nanoUsage } from "./2026-11-22i-nano-usage.js";
import { narrowIndexes } from "./2026-11-22c-narrow-indexes.js";
import { jobStates } from "./2026-11-23a-job-states.js";
import { fronts } from "./2026-11-22d-fronts.js";
import { oneUnit } from "./2026-11-22g-one-unit.js";
import { paces } from "./2026-11-22l-paces.js";
import { totals } from "./2026-11-22h-totals.js";
import { leftovers } from "./2026-11-22-leftovers.js";
import type { LedgerMigration } from "./migration.js";
import { replies } from "./2026-11-21-replies.js";
import { turns } from "./2026-11-21-turns.js";
import { webhooks } from "./2026-11-21-webhooks.js";
import { workers } from "./2026-11-22-workers.js";

/** Every schema change by name, in whose order they run; the database remembers it by its name. */
export const MIGRATIONS: Readonly<Record<string, LedgerMigration>> = {
  "2026-11-21-ledger": ledger,
  "2026-11-21-replies": replies,
  "2026-11-21-turns": turns,
  "2026-11-21-webhooks": webhooks,
  "2026-11-22-leftovers": leftovers,
  "2026-11-22-workers": workers,
  "2026-11-22b-charged-models": chargedModels,
  "2026-11-22c-narrow-indexes": narrowIndexes,
  "2026-11-22d-fronts": fronts,
  "2026-11-22g-one-unit": oneUnit,
  "2026-11-22i-nano-usage": nanoUsage,
  "2026-11-22j-charge-times": chargeTimes,
  "2026-11-22j-tenants": tenants,
  "2026-11-22j-usage-days": usageDays,
  "2026-11-22l-paces": paces,
  "2026-11-22h-totals": totals,
  "2026-11-23a-job-states": jobStates,
};
