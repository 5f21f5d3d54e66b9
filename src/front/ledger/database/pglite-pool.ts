import type { PGlite } from "@electric-sql/pglite";
import type { PostgresPool, PostgresPoolClient } from "kysely";

/**
 * Lets Kysely's Postgres dialect run on PGlite. PGlite is one session, so its users take turns:
 * a statement of another caller would land inside an open transaction.
 */
export function createPGlitePool(pglite: PGlite): PostgresPool {
  const turns = createTurns();
  const client = {
    async query(text: string, parameters: readonly unknown[]) {
      const { rows, affectedRows } = await pglite.query(text, [...parameters]);
      return { command: "UPDATE", rowCount: affectedRows ?? 0, rows };
    },
    release: turns.give,
  };
  return {
    async connect() {
      await turns.take();
      // The dialect calls `query` with text and parameters only; cursors are off.
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion
      return client as unknown as PostgresPoolClient;
    },
    end: async () => await pglite.close(),
  };
}

interface Turns {
  readonly take: () => Promise<void>;
  readonly give: () => void;
}

/** First come, first served. */
function createTurns(): Turns {
  const waiting: (() => void)[] = [];
  let taken = false;
  return {
    async take() {
      if (taken) await new Promise<void>((resolve) => waiting.push(resolve));
      taken = true;
    },
    give() {
      const next = waiting.shift();
      if (next === undefined) taken = false;
      else next();
    },
  };
}
