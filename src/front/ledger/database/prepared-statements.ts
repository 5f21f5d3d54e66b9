import { createHash } from "node:crypto";
import type { PostgresPool, PostgresPoolClient } from "kysely";
import type { Pool, PoolClient } from "pg";

/** Different statements that a session keeps; a front has far fewer that do not depend on a length. */
const MOST_NAMED = 300;
/** A longer list of values is one of many lengths. */
const MOST_VALUES = 60;
/** What it returns, not what it reads within, changes with the table: no prepared statement survives that. */
const RETURNS_WHATEVER_COLUMNS = /^\s*select \*|"\.\*|returning \*/i;

/**
 * A pool whose statements have names, so that the server parses and plans each once a session: the
 * claim's takes longer to plan than to run.
 */
export function preparing(pool: Pool): PostgresPool {
  const names = new Map<string, string | undefined>();
  const nameOf = (text: string, valueCount: number): string | undefined => {
    if (!names.has(text) && names.size < MOST_NAMED && valueCount <= MOST_VALUES)
      names.set(text, RETURNS_WHATEVER_COLUMNS.test(text) ? undefined : hashOf(text));
    return names.get(text);
  };
  const facades = new WeakMap<PoolClient, PostgresPoolClient>();
  const facadeOf = (client: PoolClient): PostgresPoolClient => {
    const facade = {
      async query(text: string, values: unknown[]) {
        const name = values.length === 0 ? undefined : nameOf(text, values.length);
        return await client.query(name === undefined ? { text, values } : { name, text, values });
      },
      release: () => client.release(),
    };
    // The dialect calls `query` with text and parameters only; cursors are off.
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion
    return facade as unknown as PostgresPoolClient;
  };
  return {
    async connect() {
      const client = await pool.connect();
      const facade = facades.get(client) ?? facadeOf(client);
      facades.set(client, facade);
      return facade;
    },
    end: async () => await pool.end(),
  };
}

/** Within the 63 bytes that Postgres keeps of a name. */
function hashOf(text: string): string {
  return createHash("sha256").update(text).digest("base64url");
}
