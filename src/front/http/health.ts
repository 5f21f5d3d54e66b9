import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "pino";
import { sql, type Database } from "../ledger/index.js";
import { reasonOf } from "../../core/errors.js";
import type { Broker } from "../../queue/index.js";
import type { ArtifactStore } from "../../storage/index.js";
import { every } from "../../core/async/every.js";

/** Why requests should go elsewhere; empty when ready. */
export type FindObstacles = () => Promise<string[]>;

const PROBE_MS = 2_000;
/** Between two looks at the parts, in milliseconds. */
const LOOK_MS = 10_000;
/** A committed job that the broker has not confirmed for this long is an outage. */
const OUTBOX_SECONDS = 2;

/**
 * What this process needs to serve anything: the database. Its own ports listen before this is read.
 * A part that all fronts share does not count: if all of them left, nobody would be served.
 */
export function createReadiness(
  database: Database,
  /** What else must be there in this process, if it is not. */
  findOwnObstacle: () => string | undefined,
): FindObstacles {
  return async () => {
    const problem = await problemOf(sql`SELECT 1`.execute(database));
    const obstacle = problem && `database: ${problem.shown}`;
    return [obstacle, findOwnObstacle()].filter((reason) => reason !== undefined);
  };
}

/** Parts that only some requests need. */
export const PARTS = ["queue", "artifact_store", "outbox"] as const;
export type Part = (typeof PARTS)[number];

/** `ok`, or what is wrong, for each part as it was last seen. */
export type PartStates = Readonly<Record<Part, string>>;

export interface PartsOptions {
  readonly database: Database;
  readonly broker: Broker;
  readonly store: ArtifactStore;
  readonly log: Logger;
}

/** Looks at the parts every 10 s, whoever asks how often: a look writes to the store. */
export function watchParts({ database, broker, store, log }: PartsOptions) {
  const seen = new Map<Part, Problem>();
  const note = (part: Part, problem: Problem | undefined): void => {
    if (problem !== undefined && !seen.has(part))
      log.warn({ part, reason: problem.reason }, "part away");
    if (problem === undefined && seen.has(part)) log.info({ part }, "part back");
    if (problem === undefined) seen.delete(part);
    else seen.set(part, problem);
  };
  const looking = every({
    intervalMs: LOOK_MS,
    run: async () => {
      const [kept, outbox] = await Promise.all([
        problemOf(store.probe()),
        problemOf(checkOutbox(database)),
      ]);
      note("artifact_store", kept);
      note("outbox", outbox);
      note("queue", broker.connected ? undefined : NOT_CONNECTED);
    },
    onError: (thrown) => log.warn({ reason: reasonOf(thrown) }, "parts not looked at"),
  });
  const stateOf = (part: Part): string => seen.get(part)?.shown ?? "ok";
  return {
    states: (): PartStates => ({
      queue: broker.connected ? "ok" : NOT_CONNECTED.shown,
      artifact_store: stateOf("artifact_store"),
      outbox: stateOf("outbox"),
    }),
    stop: looking.stop,
  };
}

interface Problem {
  /** Without the names of hosts and users, which `reason` may have. */
  readonly shown: string;
  /** For the log. */
  readonly reason: string;
}

const NOT_CONNECTED: Problem = { shown: "not connected", reason: "not connected" };

async function problemOf(probe: Promise<unknown>): Promise<Problem | undefined> {
  const answered = new AbortController();
  try {
    const timeout = sleep(PROBE_MS, "timeout", { signal: answered.signal });
    if ((await Promise.race([probe, timeout])) !== "timeout") return undefined;
    const shown = `no answer within ${PROBE_MS} ms`;
    return { shown, reason: shown };
  } catch (thrown) {
    return { shown: "not usable", reason: reasonOf(thrown) };
  } finally {
    answered.abort();
  }
}

async function checkOutbox(db: Database): Promise<void> {
  const { rows } = await sql`SELECT job_id FROM outbox
    WHERE created_at < now() - ${OUTBOX_SECONDS} * interval '1 second' LIMIT 1`.execute(db);
  if (rows.length > 0) throw new Error("jobs wait for the broker's confirmation");
}
