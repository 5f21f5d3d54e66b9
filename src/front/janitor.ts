import { sql, type Kysely } from "kysely";
import type { Logger } from "pino";
import type { Broker } from "../queue/broker.js";
import type { ArtifactStore } from "../storage/artifact-store.js";
import type { Database } from "./database.js";
import { failOverdueJobs } from "./jobs.js";
import type { Outbox } from "./outbox.js";
import { startRepeating, type Repeating } from "./repeating.js";
import type { Tables } from "./tables.js";

export interface JanitorOptions {
  readonly database: Database;
  readonly broker: Broker;
  readonly store: ArtifactStore;
  readonly outbox: Outbox;
  readonly log: Logger;
  /** The broker forgets its messages with the process: publish every open job at the start. */
  readonly republishAll: boolean;
}

const INTERVAL_MS = 5_000;
const BATCH = 200;

/** Keeps what is outside the ledger in step with it: messages, files, deadlines. Safe on every replica. */
export async function startJanitor(options: JanitorOptions): Promise<Repeating> {
  const { database, log } = options;
  const db = database.kysely;
  if (options.republishAll) {
    // With PGlite and an in-process queue the workers, too, ended with the last process.
    if (database.engine === "pglite") {
      await sql`UPDATE jobs SET lease_until = now() WHERE lease_until > now()`.execute(db);
    }
    await sql`INSERT INTO outbox (job_id)
      SELECT id FROM jobs WHERE state IN ('queued', 'in_progress') ORDER BY seq
      ON CONFLICT (job_id) DO UPDATE SET locked_until = now()`.execute(db);
    options.outbox.wake();
  }
  return startRepeating({
    intervalMs: INTERVAL_MS,
    run: async () => {
      await failOverdueJobs(db);
      await republishLost(options);
      await removeFiles(options);
      await forgetOldRows(db);
    },
    onError: (error) => {
      const message = error instanceof Error ? error.message : String(error);
      log.warn({ message }, "housekeeping failed, trying again");
    },
  });
}

interface Waiting {
  readonly modality: string;
  readonly model: string;
  /** Open jobs nobody holds. */
  readonly unleased: number;
  /** Those that should have been taken by now. */
  readonly overdue: number;
}

/** A job is lost to the queue when the queue holds fewer messages than the ledger holds jobs. */
async function republishLost({ database, broker, outbox }: JanitorOptions): Promise<void> {
  const { rows } = await sql<Waiting>`
    SELECT modality, model, count(*)::int AS unleased,
      count(*) FILTER (WHERE republish_after <= now())::int AS overdue
    FROM jobs WHERE state IN ('queued', 'in_progress')
      AND (lease_until IS NULL OR lease_until <= now())
    GROUP BY modality, model`.execute(database.kysely);
  for (const { modality, model, unleased, overdue } of rows) {
    if (overdue === 0) continue;
    const ready = await broker.depth(`${modality}.${model}`).then(
      (depth) => depth.ready,
      // A queue that cannot be asked may be gone with its messages.
      () => 0,
    );
    if (ready < unleased) await requeue(database.kysely, modality, model);
  }
  outbox.wake();
}

async function requeue(db: Kysely<Tables>, modality: string, model: string): Promise<void> {
  await sql`
    WITH lost AS (
      UPDATE jobs SET republish_after = now() + interval '60 seconds' WHERE id IN (
        SELECT id FROM jobs WHERE state IN ('queued', 'in_progress')
          AND modality = ${modality} AND model = ${model} AND republish_after <= now()
          AND (lease_until IS NULL OR lease_until <= now())
        ORDER BY seq LIMIT ${BATCH} FOR UPDATE SKIP LOCKED)
      RETURNING id
    )
    INSERT INTO outbox (job_id) SELECT id FROM lost ON CONFLICT (job_id) DO NOTHING`.execute(db);
}

/** Files go 24 h after completion, at once after a failure, and with a deleted job. */
async function removeFiles({ database, store }: JanitorOptions): Promise<void> {
  const { rows } = await sql<{ id: string }>`
    SELECT id FROM jobs WHERE NOT files_removed AND ended_at IS NOT NULL
      AND (state = 'failed' OR expires_at <= now() OR deleted_at IS NOT NULL)
    ORDER BY ended_at LIMIT ${BATCH}`.execute(database.kysely);
  for (const { id } of rows) {
    await store.removeAll(`${id}/`);
    await database.kysely
      .updateTable("jobs")
      .set({ files_removed: true })
      .where("id", "=", id)
      .execute();
  }
}

async function forgetOldRows(db: Kysely<Tables>): Promise<void> {
  await sql`DELETE FROM jobs WHERE files_removed AND deleted_at < now() - interval '24 hours'`.execute(
    db,
  );
  await sql`UPDATE jobs SET idempotency_key = NULL
    WHERE idempotency_key IS NOT NULL AND created_at < now() - interval '24 hours'`.execute(db);
  await sql`DELETE FROM rate_limits
    WHERE expire < (extract(epoch FROM now()) * 1000)::bigint - 3600000`.execute(db);
}
