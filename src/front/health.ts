import { setTimeout as sleep } from "node:timers/promises";
import { sql } from "kysely";
import type { Broker } from "../queue/broker.js";
import type { ArtifactStore } from "../storage/artifact-store.js";
import type { Database } from "./database.js";

export interface ReadinessOptions {
  readonly database: Database;
  readonly broker: Broker;
  readonly store: ArtifactStore;
  /** What else must be there in this process, if it is not. */
  readonly findOwnObstacle?: () => string | undefined;
}

/** Why requests should go elsewhere; empty when ready. */
export type FindObstacles = () => Promise<string[]>;

const PROBE_MS = 2_000;
/** A committed job that the broker has not confirmed for this long is an outage. */
const OUTBOX_SECONDS = 2;

export function createReadiness(options: ReadinessOptions): FindObstacles {
  const { database, broker, store, findOwnObstacle = () => undefined } = options;
  return async () => {
    const obstacles = await Promise.all([
      obstacle("database", sql`SELECT 1`.execute(database.kysely)),
      obstacle("artifact store", store.probe()),
      obstacle("outbox", checkOutbox(database)),
    ]);
    const queue = broker.connected ? undefined : "queue: not connected";
    return [...obstacles, queue, findOwnObstacle()].filter((reason) => reason !== undefined);
  };
}

async function obstacle(name: string, probe: Promise<unknown>): Promise<string | undefined> {
  const late = new AbortController();
  try {
    const timeout = sleep(PROBE_MS, "late", { signal: late.signal });
    const winner = await Promise.race([probe, timeout]);
    return winner === "late" ? `${name}: no answer within ${PROBE_MS} ms` : undefined;
  } catch {
    // The cause may name hosts and users; the log of the failing part has it.
    return `${name}: not usable`;
  } finally {
    late.abort();
  }
}

async function checkOutbox({ kysely }: Database): Promise<void> {
  const { rows } = await sql`SELECT job_id FROM outbox
    WHERE created_at < now() - ${OUTBOX_SECONDS} * interval '1 second' LIMIT 1`.execute(kysely);
  if (rows.length > 0) throw new Error("jobs wait for the broker's confirmation");
}
