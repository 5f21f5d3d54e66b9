import { setTimeout as sleep } from "node:timers/promises";
import { systemCodeOf } from "../../../../core/errors.js";
import { type Db, type Sql, sql } from "../sql.js";

/** A change of the ledger's schema, which fronts of the release before go on working with. */
export type LedgerMigration = QuickMigration | OnlineMigration;

/** Statements of one transaction that holds its locks for milliseconds: tables, columns without a rewrite. */
export type QuickMigration = readonly Sql[];

/**
 * What reads or writes the rows of a table, indexes and filling, in steps that each stand for themselves:
 * one that was interrupted is begun again from its first.
 */
export interface OnlineMigration {
  readonly online: (ledger: OnlineLedger) => Promise<void>;
  /**
   * Takes away what fronts of earlier releases need: done when it is asked for, or on a new ledger. The
   * schema's major from then on, which a front must know.
   */
  readonly contracts?: number;
}

/** What a migration does to a ledger that fronts are at work on. Each step can be done again. */
export interface OnlineLedger {
  readonly db: Db;
  /** Statements in one transaction that never waits for a lock, and so lets nobody wait, for long. */
  readonly change: (...statements: readonly Sql[]) => Promise<void>;
  /** Makes an index while its table is written to; one of the same name stays. */
  readonly createIndex: (index: NewIndex) => Promise<void>;
  /** The same, in the place of one that has the same name. */
  readonly replaceIndex: (index: NewIndex) => Promise<void>;
  /** Fills rows some at a time, none of them locked for long. */
  readonly fill: (filling: Filling) => Promise<void>;
  /** Adds CHECKs by name without a scan under an exclusive lock; throws where a row breaks one. */
  readonly addChecks: (table: string, checks: Checks) => Promise<void>;
  /** Makes filled columns NOT NULL without a scan under an exclusive lock. */
  readonly requireValues: (table: string, columns: readonly string[]) => Promise<void>;
}

export interface NewIndex {
  readonly name: string;
  readonly table: string;
  /** What follows the table's name in CREATE INDEX. */
  readonly definition: Sql;
}

export type Checks = Readonly<Record<string, Sql>>;

export interface Filling {
  readonly table: string;
  /** A unique column, in whose order the rows are gone through. */
  readonly key: string;
  /** Which rows are still to be filled. */
  readonly where: Sql;
  /** Assignments of UPDATE. */
  readonly set: Sql;
  /** Another table, joined by `where`. */
  readonly from?: Sql;
}

export interface OnlineOptions {
  readonly db: Db;
  /** Told how far it is. */
  readonly say: (progress: string) => void;
}

/** Whoever comes after a waiting ALTER waits as well: for no longer than this. */
const LOCK_MS = 300;
/** For a lock that lets writers by: an autovacuum gives way after the server's deadlock_timeout. */
const GENTLE_LOCK_MS = 10_000;
const PATIENCE_MS = 600_000;
const LONGEST_PAUSE_MS = 2_000;
const BATCH_MS = 150;
const FIRST_BATCH = 500;
const MOST_ROWS = 20_000;
const TELL_EVERY_MS = 5_000;
/** lock_not_available, deadlock_detected, serialization_failure. */
const BUSY = new Set(["55P03", "40P01", "40001"]);
const LARGE_TABLES = ["jobs", "charges", "attempts"];

/** Steps of a migration over one connection. */
export function createOnlineLedger({ db, say }: OnlineOptions): OnlineLedger {
  const change = async (...statements: readonly Sql[]): Promise<void> =>
    await inShortTransaction(db, async (trx) => {
      for (const statement of statements) await statement.execute(trx);
    });
  const createIndex = async (index: NewIndex): Promise<void> => await makeIndex(db, index);
  const addChecks = async (table: string, checks: Checks): Promise<void> => {
    const at = sql.ref(table);
    const parts = (part: (name: Sql, check: Sql) => Sql) =>
      sql.join(Object.entries(checks).map(([name, check]) => part(sql.ref(name), check)));
    await change(
      sql`ALTER TABLE ${at} ${parts((name) => sql`DROP CONSTRAINT IF EXISTS ${name}`)}`,
      sql`ALTER TABLE ${at}
        ${parts((name, check) => sql`ADD CONSTRAINT ${name} CHECK (${check}) NOT VALID`)}`,
    );
    await sql`ALTER TABLE ${at} ${parts((name) => sql`VALIDATE CONSTRAINT ${name}`)}`.execute(db);
  };
  return {
    db,
    change,
    createIndex,
    addChecks,
    async replaceIndex(index) {
      const next = `${index.name}_next`;
      await createIndex({ ...index, name: next });
      await change(
        sql`DROP INDEX IF EXISTS ${sql.ref(index.name)}`,
        sql`ALTER INDEX ${sql.ref(next)} RENAME TO ${sql.ref(index.name)}`,
      );
    },
    fill: async (filling) => await fillAll(db, filling, say),
    async requireValues(table, columns) {
      const name = `${table}_${columns[0]}_known`;
      const known = columns.map((column) => sql`${sql.ref(column)} IS NOT NULL`);
      await addChecks(table, { [name]: sql.join(known, " AND ") });
      const at = sql.ref(table);
      const required = columns.map((column) => sql`ALTER COLUMN ${sql.ref(column)} SET NOT NULL`);
      // Postgres takes the constraint's word for it.
      await change(
        sql`ALTER TABLE ${at} ${sql.join(required)}`,
        sql`ALTER TABLE ${at} DROP CONSTRAINT ${sql.ref(name)}`,
      );
    },
  };
}

/**
 * Runs `work` in a transaction whose waits for exclusive locks are cut short and tried again, with
 * growing pauses, for ten minutes. An autovacuum, which gives way only to whoever waits for longer, is
 * sent away first, under a lock that stops nobody else.
 */
export async function inShortTransaction(db: Db, work: (trx: Db) => Promise<void>): Promise<void> {
  const endMs = performance.now() + PATIENCE_MS;
  for (let pauseMs = 50; ; pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS)) {
    try {
      return await db.transaction(async (trx) => {
        await setLockTimeout(trx, GENTLE_LOCK_MS);
        for (const table of await existingTables(trx))
          await sql`LOCK TABLE ${sql.ref(table)} IN SHARE UPDATE EXCLUSIVE MODE`.execute(trx);
        await setLockTimeout(trx, LOCK_MS);
        await work(trx);
      });
    } catch (error) {
      if (!BUSY.has(systemCodeOf(error) ?? "") || performance.now() > endMs) throw error;
      await sleep(pauseMs);
    }
  }
}

async function setLockTimeout(db: Db, milliseconds: number): Promise<void> {
  await sql`SELECT set_config('lock_timeout', ${String(milliseconds)}, true)`.execute(db);
}

async function existingTables(db: Db): Promise<string[]> {
  const { rows } = await sql<{ name: string }>`
    SELECT name FROM unnest(${LARGE_TABLES}::text[]) AS name
    WHERE to_regclass(name) IS NOT NULL ORDER BY name DESC`.execute(db);
  return rows.map(({ name }) => name);
}

async function makeIndex(db: Db, index: NewIndex): Promise<void> {
  const { name, table, definition } = index;
  const { rows } = await sql<{ is_valid: boolean }>`SELECT indisvalid AS is_valid FROM pg_index
    WHERE indexrelid = to_regclass(${name})`.execute(db);
  if (rows[0]?.is_valid === true) return;
  const at = sql.ref(table);
  const { rows: found } = await sql`SELECT FROM ${at} LIMIT 1`.execute(db);
  const way = found.length === 0 ? sql`` : sql`CONCURRENTLY`;
  // What an interrupted making left behind.
  if (rows.length > 0) await sql`DROP INDEX ${way} ${sql.ref(name)}`.execute(db);
  await sql`CREATE INDEX ${way} ${sql.ref(name)} ON ${at} ${definition}`.execute(db);
}

/** Rows that fronts hold at the moment are left for another round, so that neither waits for the other. */
async function fillAll(db: Db, filling: Filling, say: OnlineOptions["say"]): Promise<void> {
  let [filled, toldAtMs, rows] = [0, performance.now(), FIRST_BATCH];
  for (let skipped = true; skipped;) {
    skipped = false;
    for (let after: unknown = null; ;) {
      const startedAtMs = performance.now();
      const batch = await fillBatch(db, filling, after, rows);
      if (batch === undefined) break;
      const { upTo, changed, left } = batch;
      after = upTo;
      filled += changed;
      skipped ||= left > 0;
      const nowMs = performance.now();
      const share = BATCH_MS / Math.max(1, nowMs - startedAtMs);
      rows = Math.round(Math.min(MOST_ROWS, Math.max(50, rows * Math.min(2, share))));
      if (nowMs - toldAtMs < TELL_EVERY_MS) continue;
      toldAtMs = nowMs;
      say(`${filled.toLocaleString("en")} rows of ${filling.table} filled`);
    }
    if (skipped) await sleep(100);
  }
}

interface Batch {
  readonly upTo: unknown;
  readonly changed: number;
  /** Rows that somebody else held. */
  readonly left: number;
}

/** A batch is found by its keys, however little the planner knows of the tables yet. */
const BY_KEY = sql`SELECT set_config('enable_seqscan', 'off', true),
  set_config('enable_hashjoin', 'off', true), set_config('enable_mergejoin', 'off', true)`;

/** The next rows by key; undefined where none follow. */
async function fillBatch(
  db: Db,
  filling: Filling,
  after: unknown,
  rows: number,
): Promise<Batch | undefined> {
  return await db.transaction(async (trx) => {
    await BY_KEY.execute(trx);
    return await fillNext(trx, filling, after, rows);
  });
}

async function fillNext(
  db: Db,
  { table, key, where, set, from }: Filling,
  after: unknown,
  rows: number,
): Promise<Batch | undefined> {
  const [at, by] = [sql.ref(table), sql.ref(`${table}.${key}`)];
  const later = after === null ? sql`true` : sql`${by} > ${after}`;
  const { rows: ends } = await sql<{ up_to: unknown }>`SELECT max(key) AS up_to FROM (
    SELECT ${by} AS key FROM ${at} WHERE ${later} ORDER BY ${by} LIMIT ${rows}) page`.execute(db);
  const upTo = ends[0]?.up_to ?? null;
  if (upTo === null) return undefined;
  const due = sql`${later} AND ${by} <= ${upTo} AND ${where}`;
  const joined = from === undefined ? sql`` : sql`, ${from}`;
  const { rows: counts } = await sql<{ changed: number; due: number }>`
    WITH due AS (SELECT ${by} AS key FROM ${at} ${joined} WHERE ${due}),
    free AS (SELECT ${by} AS key FROM ${at} WHERE ${by} IN (SELECT key FROM due)
      FOR NO KEY UPDATE SKIP LOCKED),
    changed AS (UPDATE ${at} SET ${set} FROM free ${joined}
      WHERE ${by} = free.key AND ${where} RETURNING 1)
    SELECT (SELECT count(*) FROM changed)::int AS changed, (SELECT count(*) FROM due)::int AS due`.execute(
    db,
  );
  const { changed = 0, due: found = 0 } = counts[0] ?? {};
  return { upTo, changed, left: found - changed };
}
