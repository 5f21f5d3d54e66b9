import { stat } from "node:fs/promises";
import { join } from "node:path";
import { PGlite, types as pgliteTypes } from "@electric-sql/pglite";
import { Kysely, PostgresDialect } from "kysely";
import { Pool, types as postgresTypes } from "pg";
import type { Logger } from "pino";
import { makePrivateFolder, makePrivateInside } from "../../../storage/index.js";
import { lockFolder } from "./folder-lock.js";
import { createPGlitePool } from "./pglite-pool.js";
import { listenOnPostgres, type StopListening } from "./postgres-listener.js";
import { preparing } from "./prepared-statements.js";
import { faultOf, isSmall, migrate, readSchema } from "./schema.js";
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
  /** Most connections at once to Postgres, but for one that listens. */
  readonly databaseConnections?: number | undefined;
}

const DEFAULT_CONNECTIONS = 20;
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
    if (databaseUrl === undefined) await migrateHere(database.kysely, options.log);
  } catch (error) {
    await database.close();
    throw error;
  }
  return database;
}

/** A session for a migrator: no statement of it is too long. */
export function openMigrator(databaseUrl: string): Kysely<unknown> {
  const pool = new Pool({
    connectionString: databaseUrl,
    max: 1,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    application_name: "framemill migrate",
    types: { getTypeParser: parserOf },
  });
  pool.on("error", () => {});
  outliveResets(pool);
  return new Kysely<unknown>({ dialect: new PostgresDialect({ pool }) });
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
    await db.destroy();
  }
}

/** Several addresses that were tried in vain have a code and no message. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.message || ("code" in error ? String(error.code) : error.name);
}

async function migrateHere(kysely: Kysely<Tables> | Kysely<unknown>, log: Logger): Promise<void> {
  const say = (sentence: string): void => log.debug({}, sentence);
  // Migrations know the tables as they were: by name, in SQL.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  await migrate(kysely as Kysely<unknown>, { contract: false, say });
}

function openPostgres({
  databaseUrl: connectionString,
  databaseConnections: max = DEFAULT_CONNECTIONS,
  log,
}: DatabaseOptions & { readonly databaseUrl: string }): Database {
  const pool = new Pool({
    connectionString,
    max,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    statement_timeout: STATEMENT_TIMEOUT_MS,
    maxLifetimeSeconds: SESSION_SECONDS,
    options: SESSION_OPTIONS,
    types: { getTypeParser: parserOf },
  });
  pool.on("error", ({ message }) => log.warn({ message }, "idle database connection lost"));
  outliveResets(pool);
  const kysely = new Kysely<Tables>({ dialect: new PostgresDialect({ pool: preparing(pool) }) });
  return {
    kysely,
    engine: "postgres",
    listen: (channel, onPayload) =>
      Promise.resolve(listenOnPostgres({ connectionString, channel, onPayload, log })),
    close: async () => await kysely.destroy(),
  };
}

/**
 * The statement under way fails with the connection; the pool looks for errors of idle ones only, and one
 * that nobody looks for ends the process.
 */
function outliveResets(pool: Pool): void {
  pool.on("connect", (client) => client.on("error", () => {}));
}

async function openPGlite(dataDir: string): Promise<Database> {
  const folder = join(dataDir, "database");
  for (const path of [dataDir, folder]) await makePrivateFolder(path, "DATA_DIR");
  const unlock = await lockFolder(dataDir);
  const pglite = await PGlite.create(folder, { parsers: { [pgliteTypes.INT8]: Number } });
  // It makes its first files for everybody to read and write, whatever the umask says.
  const { mode } = await stat(join(folder, "PG_VERSION"));
  if ((mode & 0o077) !== 0) await makePrivateInside(folder);
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
