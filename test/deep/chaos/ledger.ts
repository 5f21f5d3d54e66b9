import { Client, type QueryResultRow } from "pg";
import type { LedgerRow } from "./event-log.js";

/** Asks a database over a connection of its own. */
export async function ask<Row extends QueryResultRow>(
  connectionString: string,
  question: string,
  values: readonly unknown[] = [],
): Promise<Row[]> {
  const client = new Client({ connectionString });
  await client.connect();
  try {
    return (await client.query<Row>(question, [...values])).rows;
  } finally {
    await client.end();
  }
}

/** All jobs, oldest first. */
export function readLedger(connectionString: string): Promise<LedgerRow[]> {
  return ask<LedgerRow>(
    connectionString,
    `SELECT 'ledger' AS type, id, state, token, crashes, preemptions,
        amount_micro_usd::int AS quoted,
        (SELECT coalesce(json_agg(artifact->>'id'), '[]')
          FROM jsonb_array_elements(artifacts) artifact) AS files,
        (SELECT coalesce(json_agg(amount_micro_usd::int), '[]')
          FROM charges WHERE job_id = jobs.id) AS charges
      FROM jobs ORDER BY seq`,
  );
}
