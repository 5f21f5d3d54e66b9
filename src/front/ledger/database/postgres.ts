import { createHash } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { Client, Pool, types } from "pg";
import type { Logger } from "pino";
import { messageOf } from "../../../core/errors.js";
import { createDb, type Db } from "./sql.js";

export interface PostgresOptions {
  readonly databaseUrl: string;
  /** Most connections at once, but for one that listens. */
  readonly databaseConnections?: number | undefined;
  readonly log: Logger;
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
const SESSION_OPTIONS = "-c enable_seqscan=off -c jit=off -c plan_cache_mode=force_generic_plan";
const INT8 = 20;

/** A ledger on a server, shared by replicas. */
export function openPostgres({
  databaseUrl: connectionString,
  databaseConnections: max = DEFAULT_CONNECTIONS,
  log,
}: PostgresOptions) {
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
  return {
    ...overPool(pool, createNames()),
    engine: "postgres" as const,
    listen: (channel: string, onPayload: (payload: string) => void) =>
      Promise.resolve(listenOnPostgres({ connectionString, channel, onPayload, log })),
    close: async (): Promise<void> => await pool.end(),
  };
}

/** A database of which nobody may be the owner for long. */
export interface Migrator extends Db {
  readonly close: () => Promise<void>;
}

/** A session for a migrator: no statement of it is too long. */
export function openMigrator(databaseUrl: string): Migrator {
  const pool = new Pool({
    connectionString: databaseUrl,
    max: 1,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    application_name: "framemill migrate",
    types: { getTypeParser: parserOf },
  });
  pool.on("error", () => {});
  outliveResets(pool);
  return { ...overPool(pool), close: async () => await pool.end() };
}

/**
 * The statement under way fails with the connection; the pool looks for errors of idle ones only, and one
 * that nobody looks for ends the process.
 */
function outliveResets(pool: Pool): void {
  pool.on("connect", (client) => client.on("error", () => {}));
}

/** Counts and micro-dollars stay far below 2^53, so 64-bit integers are read as numbers. */
export function parserOf(type: number): (text: string) => unknown {
  return type === INT8 ? Number : types.getTypeParser(type);
}

/** Different statements that a session keeps; a front has far fewer that do not depend on a length. */
const MOST_NAMED = 300;
/** A longer list of values is one of many lengths. */
const MOST_VALUES = 60;
/** What it returns, not what it reads within, changes with the table: no prepared statement survives that. */
const RETURNS_WHATEVER_COLUMNS = /^\s*select \*|returning \*$/i;

type NameOf = (text: string, values: readonly unknown[]) => string | undefined;

/**
 * Names of statements, by which the server parses and plans each once a session: the claim's takes longer
 * to plan than to run.
 */
export function createNames(): NameOf {
  const names = new Map<string, string | undefined>();
  return (text, { length }) => {
    if (length === 0) return undefined;
    if (!names.has(text) && names.size < MOST_NAMED && length <= MOST_VALUES)
      names.set(text, RETURNS_WHATEVER_COLUMNS.test(text) ? undefined : hashOf(text));
    return names.get(text);
  };
}

function overPool(pool: Pool, nameOf: NameOf = () => undefined): Db {
  return createDb(async () => {
    const client = await pool.connect();
    return {
      query: async (text, values) =>
        await client.query({ name: nameOf(text, values), text, values: [...values] }),
      release: (broken) => client.release(broken),
    };
  });
}

/** Within the 63 bytes that Postgres keeps of a name. */
function hashOf(text: string): string {
  return createHash("sha256").update(text).digest("base64url");
}

interface ListenOptions {
  readonly connectionString: string;
  /** A plain SQL identifier. */
  readonly channel: string;
  readonly onPayload: (payload: string) => void;
  readonly log: Logger;
}

const RECONNECT_MS = 500;

/** Keeps one connection on `LISTEN`, and opens it again when it is lost, until it is stopped. */
function listenOnPostgres(options: ListenOptions): () => Promise<void> {
  const stop = new AbortController();
  const listening = keepListening(options, stop.signal);
  return async () => {
    stop.abort();
    await listening;
  };
}

async function keepListening(options: ListenOptions, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    try {
      await listenOnce(options, signal);
    } catch (error) {
      options.log.warn(
        { message: messageOf(error) },
        "notifications interrupted, polling until they are back",
      );
      // An aborted sleep means nobody listens any more.
      await sleep(RECONNECT_MS, undefined, { signal }).catch(() => undefined);
    }
  }
}

/** Resolves when aborted, rejects when the connection is lost. */
async function listenOnce(options: ListenOptions, signal: AbortSignal): Promise<void> {
  const client = new Client({ connectionString: options.connectionString, keepAlive: true });
  const ended = new Promise<void>((resolve, reject) => {
    signal.addEventListener("abort", () => resolve(), { once: true });
    client.on("error", reject);
    client.on("end", () => reject(new Error("connection ended")));
  });
  client.on("notification", ({ payload }) => options.onPayload(payload ?? ""));
  try {
    await Promise.race([client.connect(), ended]);
    await Promise.race([client.query(`LISTEN ${options.channel}`), ended]);
    await ended;
  } finally {
    ended.catch(() => undefined);
    await client.end().catch(() => undefined);
  }
}
