import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { PGlite, types as pgliteTypes } from "@electric-sql/pglite";
import { Kysely, Migrator, PostgresDialect } from "kysely";
import { Pool, types as postgresTypes } from "pg";
import type { Logger } from "pino";
import { lockFolder } from "./folder-lock.js";
import { MIGRATIONS } from "./migrations/migrations.js";
import { createPGlitePool } from "./pglite-pool.js";
import { listenOnPostgres, type StopListening } from "./postgres-listener.js";
import { preparing } from "./prepared-statements.js";
import type { Tables } from "./tables.js";

/** One ledger: Postgres shared by replicas, or PGlite inside this process. */
export interface Database {
  readonly kysely: Kysely<Tables>;
  readonly engine: "postgres" | "pglite";
  /** Calls back with the payload of every `NOTIFY`, those of other replicas included. */
  readonly listen: (
    channel: string,
    onPayload: (payload: string) => void,
  ) => Promise<StopListening>;
  readonly close: () => Promise<void>;
}

export interface DatabaseOptions {
  /** `postgres://…`; absent = PGlite in `dataDir`. */
  readonly databaseUrl?: string | undefined;
  readonly dataDir: string;
  readonly log: Logger;
}

const POOL_SIZE = 20;
const CONNECT_TIMEOUT_MS = 2_000;
const STATEMENT_TIMEOUT_MS = 10_000;
/** A plan that was made when the tables were small is not kept for longer. */
const SESSION_SECONDS = 600;
/**
 * A plan outlives the size that its tables had: each statement has its index, and must not read a whole
 * table because that was short once.
 */
const SESSION_OPTIONS = "-c enable_seqscan=off -c jit=off";
const INT8 = 20;

/** Opens the database and brings its schema up to date; concurrent starts wait for each other. */
export async function openDatabase(options: DatabaseOptions): Promise<Database> {
  const database =
    options.databaseUrl === undefined
      ? await openPGlite(options.dataDir)
      : openPostgres(options.databaseUrl, options.log);
  try {
    await migrate(database.kysely);
  } catch (error) {
    await database.close();
    throw error;
  }
  return database;
}

function openPostgres(connectionString: string, log: Logger): Database {
  const pool = new Pool({
    connectionString,
    max: POOL_SIZE,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    statement_timeout: STATEMENT_TIMEOUT_MS,
    maxLifetimeSeconds: SESSION_SECONDS,
    options: SESSION_OPTIONS,
    types: { getTypeParser: parserOf },
  });
  pool.on("error", ({ message }) => log.warn({ message }, "idle database connection lost"));
  const kysely = new Kysely<Tables>({ dialect: new PostgresDialect({ pool: preparing(pool) }) });
  return {
    kysely,
    engine: "postgres",
    listen: (channel, onPayload) =>
      Promise.resolve(listenOnPostgres({ connectionString, channel, onPayload, log })),
    close: async () => await kysely.destroy(),
  };
}

async function openPGlite(dataDir: string): Promise<Database> {
  const folder = join(dataDir, "database");
  await mkdir(folder, { recursive: true });
  const unlock = await lockFolder(dataDir);
  const pglite = await PGlite.create(folder, { parsers: { [pgliteTypes.INT8]: Number } });
  const kysely = new Kysely<Tables>({
    dialect: new PostgresDialect({ pool: createPGlitePool(pglite) }),
  });
  return {
    kysely,
    engine: "pglite",
    listen: async (channel, onPayload) => {
      const unlisten = await pglite.listen(channel, onPayload);
      return async () => await unlisten();
    },
    async close() {
      await kysely.destroy();
      await unlock();
    },
  };
}

/** Counts and micro-dollars stay far below 2^53, so 64-bit integers are read as numbers. */
function parserOf(type: number): (text: string) => unknown {
  return type === INT8 ? Number : postgresTypes.getTypeParser(type);
}

async function migrate(kysely: Kysely<Tables>): Promise<void> {
  const migrator = new Migrator({
    db: kysely,
    provider: { getMigrations: async () => ({ ...MIGRATIONS }) },
  });
  const { error } = await migrator.migrateToLatest();
  if (error !== undefined)
    throw new Error("the database schema could not be updated", { cause: error });
}
