import { setTimeout as sleep } from "node:timers/promises";
import { type Db, sql } from "./sql.js";
import { messageOf } from "../../../core/errors.js";
import { MIGRATIONS } from "./migrations/migrations.js";
import {
  createOnlineLedger,
  inShortTransaction,
  type LedgerMigration,
} from "./migrations/online.js";

/** What the schema of a ledger has, seen from the migrations that this release knows. */
export interface SchemaState {
  /** That this release needs and the ledger has not, in order. */
  readonly missing: readonly string[];
  /** That take away what only earlier releases need, and were not run yet. */
  readonly contractions: readonly string[];
  /** That the ledger has and this release does not know: of a later one. */
  readonly unknown: readonly string[];
  /** A front that knows a lower one only cannot work with the schema. */
  readonly major: number;
}

export interface MigrateOptions {
  /** The contractions, too. */
  readonly contract: boolean;
  /** Told what is done, a sentence a time. */
  readonly say: (sentence: string) => void;
  /** Other than those of this release. */
  readonly migrations?: Readonly<Record<string, LedgerMigration>>;
}

type Migrations = Readonly<Record<string, LedgerMigration>>;

/** Raised with a contraction after which the fronts of the release before cannot go on. */
const SCHEMA_MAJOR = 1;
/** Fronts of up to here refuse names that they do not know, in the table that Kysely's own migrator has. */
const LAST_OF_KYSELY = "2026-11-22c-narrow-indexes";
/** Of one session: whoever migrates. */
const MIGRATOR = 3_853_314_792;
const POLL_MS = 500;
/** Rows that may be migrated at the start of a front. */
const SMALL = 10_000;

export async function readSchema(
  db: Db,
  migrations: Migrations = MIGRATIONS,
): Promise<SchemaState> {
  const done = await readExecuted(db);
  const names = Object.keys(migrations).toSorted();
  const pending = names.filter((name) => !done.has(name));
  const contracts = (name: string) => isContraction(migrations[name]);
  return {
    missing: pending.filter((name) => !contracts(name)),
    contractions: pending.filter(contracts),
    unknown: [...done.keys()].filter((name) => migrations[name] === undefined).toSorted(),
    major: Math.max(SCHEMA_MAJOR, ...done.values()),
  };
}

/** Why a front of this release cannot work with a schema; undefined where it can. */
export function faultOf({ missing, unknown, major }: SchemaState): string | undefined {
  if (major > SCHEMA_MAJOR)
    return (
      `the database's schema is of major ${major} (${unknown.join(", ")}), this release knows ` +
      `${SCHEMA_MAJOR}: run the release that migrated it, or a later one`
    );
  if (missing.length === 0) return undefined;
  return (
    `the database's schema lacks ${missing.join(", ")}: ` +
    "run `framemill migrate` with this release first, then start its fronts"
  );
}

/** Whether the ledger has so few rows that a front may migrate it at its start. */
export async function isSmall(db: Db): Promise<boolean> {
  for (const table of ["jobs", "charges", "attempts"]) {
    const { rows } = await sql<{
      at: string | null;
    }>`SELECT to_regclass(${table})::text AS at`.execute(db);
    if ((rows[0]?.at ?? null) === null) continue;
    const { rows: more } = await sql`SELECT FROM ${sql.ref(table)} OFFSET ${SMALL} LIMIT 1`.execute(
      db,
    );
    if (more.length > 0) return false;
  }
  return true;
}

/**
 * Brings the schema up to date over one session, which waits while another one does; contractions of a
 * ledger without jobs are done with the rest. What was interrupted is gone on with by the next run.
 * Throws with the failed migration's name and the database's words.
 */
export async function migrate(ledger: Db, options: MigrateOptions): Promise<void> {
  await ledger.session(async (db) => {
    await waitForTurn(db, options.say);
    try {
      await migrateAlone(db, options);
    } finally {
      await sql`SELECT pg_advisory_unlock(${MIGRATOR}::bigint)`.execute(db);
    }
  });
}

/** Asked for again and again: whoever waited within a statement would hold up indexes that are being made. */
async function waitForTurn(db: Db, say: MigrateOptions["say"]): Promise<void> {
  for (let isAnnounced = false; ; isAnnounced = true) {
    const { rows } = await sql<{ locked: boolean }>`
      SELECT pg_try_advisory_lock(${MIGRATOR}::bigint) AS locked`.execute(db);
    if (rows[0]?.locked === true) return;
    if (!isAnnounced) say("another migrator is at work: waiting for it");
    await sleep(POLL_MS);
  }
}

async function migrateAlone(
  db: Db,
  { contract, say, migrations = MIGRATIONS }: MigrateOptions,
): Promise<void> {
  await makeNotes(db);
  const isNew = (await readExecuted(db)).size === 0;
  const { missing, contractions } = await readSchema(db, migrations);
  const chosen = contract || isNew ? [...missing, ...contractions].toSorted() : missing;
  for (const name of chosen) {
    const migration = migrations[name];
    if (migration === undefined) continue;
    const startedAtMs = performance.now();
    try {
      await runOne(db, name, migration, (progress) => say(`${name}: ${progress}`));
    } catch (error) {
      throw new Error(`migration ${name} failed: ${messageOf(error)}`, { cause: error });
    }
    say(`${name}: done in ${((performance.now() - startedAtMs) / 1_000).toFixed(1)} s`);
  }
}

async function runOne(
  db: Db,
  name: string,
  migration: LedgerMigration,
  say: MigrateOptions["say"],
): Promise<void> {
  if ("online" in migration) {
    await migration.online(createOnlineLedger({ db, say }));
    await note(db, name, migration.contracts);
    return;
  }
  await inShortTransaction(db, async (trx) => {
    for (const statement of migration) await statement.execute(trx);
    await note(trx, name);
  });
}

async function makeNotes(db: Db): Promise<void> {
  await sql`CREATE TABLE IF NOT EXISTS schema_migrations (
    name text PRIMARY KEY,
    major integer,
    executed_at timestamptz NOT NULL DEFAULT now()
  )`.execute(db);
  await sql`CREATE TABLE IF NOT EXISTS kysely_migration (
    name varchar(255) PRIMARY KEY,
    timestamp varchar(255) NOT NULL
  )`.execute(db);
}

async function note(db: Db, name: string, major?: number): Promise<void> {
  if (name <= LAST_OF_KYSELY)
    await sql`INSERT INTO kysely_migration (name, timestamp)
      VALUES (${name}, ${new Date().toISOString()})`.execute(db);
  else
    await sql`INSERT INTO schema_migrations (name, major) VALUES (${name}, ${major ?? null})`.execute(
      db,
    );
}

/** Names; with them the schema's major, where it was raised. */
async function readExecuted(db: Db): Promise<Map<string, number>> {
  const { rows } = await sql<{ first: string | null; own: string | null }>`
    SELECT to_regclass('kysely_migration')::text AS first,
      to_regclass('schema_migrations')::text AS own`.execute(db);
  const read = async (
    notes: string | null | undefined,
    major: string,
  ): Promise<[string, number][]> => {
    if ((notes ?? null) === null) return [];
    const { rows: known } = await sql<{ name: string; major: number }>`
      SELECT name, ${sql.raw(major)} AS major FROM ${sql.raw(String(notes))}`.execute(db);
    return known.map(({ name, major: of }) => [name, of]);
  };
  return new Map([
    ...(await read(rows[0]?.first, "1")),
    ...(await read(rows[0]?.own, "coalesce(major, 1)")),
  ]);
}

function isContraction(migration: LedgerMigration | undefined): boolean {
  return migration !== undefined && "contracts" in migration && migration.contracts !== undefined;
}
