import { type Kysely, sql, type Transaction } from "kysely";
import type { Tables } from "./tables.js";

/**
 * Reads what takes many rows together. The statements of requests look rows up by their indexes, and
 * their sessions forbid anything else; for a sum of a month that is the wrong plan.
 */
export async function readHistory<T>(
  kysely: Kysely<Tables>,
  read: (trx: Transaction<Tables>) => Promise<T>,
): Promise<T> {
  return await kysely.transaction().execute(async (trx) => {
    await sql`SET LOCAL enable_seqscan = on`.execute(trx);
    return await read(trx);
  });
}
