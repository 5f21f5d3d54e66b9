import type { Logger } from "pino";
import type { Db } from "./sql.js";
import { openPGlite } from "./pglite.js";
import { openMigrator, openPostgres } from "./postgres.js";
import { faultOf, isSmall, migrate, readSchema } from "./schema.js";

export { type Migrator, openMigrator } from "./postgres.js";

/** One ledger: Postgres shared by replicas, or PGlite inside this process. */
export interface Database extends Db {
  readonly engine: "postgres" | "pglite";
  /** Calls back with the payload of every `NOTIFY`, those of other replicas included, until it is stopped. */
  readonly listen: (
    channel: string,
    onPayload: (payload: string) => void,
  ) => Promise<() => Promise<void>>;
  readonly close: () => Promise<void>;
}

export interface DatabaseOptions {
  /** `postgres://…`; PGlite in `dataDir` by default. */
  readonly databaseUrl?: string | undefined;
  readonly dataDir: string;
  readonly log: Logger;
  /** Most connections at once to Postgres, but for one that listens. */
  readonly databaseConnections?: number | undefined;
}

/**
 * Opens the database. An embedded or small one is brought up to date; in front of one that has grown and
 * lacks migrations it throws a sentence that says what to run. A newer schema of the same major is fine.
 */
export async function openDatabase(options: DatabaseOptions): Promise<Database> {
  const { databaseUrl } = options;
  if (databaseUrl !== undefined) await prepareSchema(databaseUrl, options.log);
  const database =
    databaseUrl === undefined
      ? await openPGlite(options.dataDir)
      : openPostgres({ ...options, databaseUrl });
  try {
    if (databaseUrl === undefined) await migrateHere(database, options.log);
  } catch (error) {
    await database.close();
    throw error;
  }
  return database;
}

async function prepareSchema(databaseUrl: string, log: Logger): Promise<void> {
  const db = openMigrator(databaseUrl);
  try {
    const schema = await readSchema(db).catch((error: unknown) => {
      throw new Error(`the database cannot be read: ${reasonOf(error)}`, { cause: error });
    });
    if (schema.missing.length > 0 && (await isSmall(db))) await migrateHere(db, log);
    const fault = faultOf(await readSchema(db));
    if (fault !== undefined) throw new Error(fault);
  } finally {
    await db.close();
  }
}

/** Several addresses that were tried in vain have a code and no message. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.message || ("code" in error ? String(error.code) : error.name);
}

async function migrateHere(db: Db, log: Logger): Promise<void> {
  await migrate(db, { contract: false, say: (sentence) => log.debug({}, sentence) });
}
