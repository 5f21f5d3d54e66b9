import type { Logger } from "pino";
import { type Db, type Sql, sql } from "./database/sql.js";
import { attemptFolder, liveFolder, sentFolder } from "../../core/artifact.js";
import type { Broker } from "../../queue/index.js";
import type { ArtifactStore } from "../../storage/index.js";
import type { Database } from "./database/database.js";
import { abandonGone, forgetFronts } from "./fronts.js";
import { abandonReplies, failMissedStarts, failOverdueJobs, LEASE_MS } from "./jobs.js";
import type { Outbox, QueueKey } from "./outbox.js";
import { messageOf } from "../../core/errors.js";
import { every, type PeriodicTask } from "../../core/async/every.js";
import { eraseProjects } from "./erasure.js";
import { closeLostAttempts } from "./gpu-cost.js";
import { readStatement } from "./statements.js";
import { rollUpUsage } from "./usage-rollup.js";
import { rollUpTotals } from "./totals.js";
import { forgetWorkers } from "./workers.js";

export interface JanitorOptions {
  readonly database: Database;
  readonly broker: Broker;
  readonly store: ArtifactStore;
  readonly outbox: Outbox;
  readonly log: Logger;
  /** The broker forgets its messages with the process: publish every open job at the start. */
  readonly republishAll: boolean;
  /** Names of all modalities. */
  readonly modalities: readonly string[];
  /** Names of those whose content can be played while it is made. */
  readonly liveModalities: readonly string[];
  /** Days after its end in which a job that can be read again is forgotten. */
  readonly retentionDays: number;
  /** Whether the silence of another front means that it has gone. */
  readonly maySayGone: () => boolean;
}

const INTERVAL_MS = 5_000;
/** How often missed starts are looked for: an index of those alone that have such a deadline. */
const STARTS_INTERVAL_MS = 500;
/** What nobody waits for is done in each so many rounds, the first among them. */
const THOROUGH_ROUNDS = 6;
/** After its start a front waits this long for reports of work that was finished while it was away. */
const QUIET_MS = 10_000;
const BATCH = 200;
/** After its job's end a worker stores nothing any more: its lease is over, and what was on its way has come. */
const LATEST_FILE_MS = LEASE_MS + 60_000;
/** Who plays a clip while it is made has so long after its end to come to its end, too. */
const LIVE_KEPT_MS = 300_000;

const lapse = readStatement<object, object>("lapse");
const republishAll = readStatement<object, object>("republish-all");
const republish = readStatement<QueueKey, object>("republish");

/** Keeps what is outside the ledger in step with it: messages, files, deadlines. Safe on every replica. */
export async function startJanitor(options: JanitorOptions): Promise<PeriodicTask> {
  const { database, log } = options;
  const db = database;
  // Callers who waited at this address before this front started.
  await abandonReplies(db, [options.outbox.reportTo]);
  if (options.republishAll) {
    // With PGlite and an in-process queue the workers, too, ended with the last process.
    if (database.engine === "pglite") await lapse(db, {});
    await republishAll(db, {});
    options.outbox.wake();
  }
  const quietUntil = performance.now() + QUIET_MS;
  let round = 0;
  const onError = (error: unknown) =>
    log.warn({ message: messageOf(error) }, "housekeeping failed, trying again");
  const starts = every({
    intervalMs: STARTS_INTERVAL_MS,
    run: async () => await failMissedStarts(db),
    onError,
  });
  const rounds = every({
    intervalMs: INTERVAL_MS,
    run: async () => {
      if (options.maySayGone()) await endAbandoned(options);
      await failOverdueJobs(db);
      if (performance.now() > quietUntil) await republishLost(options);
      await removeFiles(options);
      await eraseProjects(db, options.store);
      if (round % THOROUGH_ROUNDS === 0) await tidy(options);
      round += 1;
    },
    onError,
  });
  return {
    ...rounds,
    async stop() {
      await Promise.all([starts.stop(), rounds.stop()]);
    },
  };
}

/** Rows that are of no use any more go, and what is counted often is summed up. */
async function tidy(options: JanitorOptions): Promise<void> {
  const { database: db } = options;
  await removeLeftovers(options);
  await forgetReplies(options);
  await deleteOldRows(db);
  await forgetKept(options);
  await forgetWorkers(db);
  await closeLostAttempts(db);
  await rollUpTotals(db);
  await forgetFronts(db);
  await rollUpUsage(db);
}

/** A front that is killed says nothing; its callers are gone with it. */
async function endAbandoned({ database, log }: JanitorOptions): Promise<void> {
  const { addresses, jobs } = await abandonGone(database);
  if (jobs > 0) log.warn({ addresses, jobs }, "a front has gone, its callers' jobs were ended");
}

interface Waiting extends QueueKey {
  /** Open jobs nobody holds. */
  readonly unleased: number;
  /** Those that should have been taken by now. */
  readonly overdue: number;
}

/** A job is lost to the queue when the queue holds fewer messages than the ledger holds jobs. */
async function republishLost({ database, broker, outbox }: JanitorOptions): Promise<void> {
  const { rows } = await sql<Waiting>`
    SELECT modality, model, service_tier AS "serviceTier", count(*)::int AS unleased,
      count(*) FILTER (WHERE republish_after <= now())::int AS overdue
    FROM jobs WHERE state IN ('queued', 'in_progress') AND released_at IS NOT NULL
      AND (lease_until IS NULL OR lease_until <= now())
    GROUP BY modality, model, service_tier`.execute(database);
  for (const { unleased, overdue, ...queue } of rows) {
    if (overdue === 0) continue;
    const { modality, model, serviceTier } = queue;
    const ready = await broker.depth(`${modality}.${model}`, serviceTier).then(
      (depth) => depth.ready,
      // A queue that does not answer may be gone with its messages.
      () => 0,
    );
    if (ready >= unleased) continue;
    await republish(database, queue);
    outbox.wake();
  }
}

/** When an ended job's files go, as its index has it. */
const REMOVED_FROM = sql`(CASE WHEN state = 'failed' OR deleted_at IS NOT NULL THEN ended_at
  ELSE expires_at END)`;

/** Files go 24 h after completion, at once after a failure, and with a deleted job. */
async function removeFiles({ database: db, store }: JanitorOptions): Promise<void> {
  const next = sql<{ id: string }>`
    SELECT id FROM jobs WHERE NOT files_removed AND ended_at IS NOT NULL
      AND ${REMOVED_FROM} <= now()
    ORDER BY ${REMOVED_FROM} LIMIT ${BATCH}`;
  await inBatches(db, next, async (rows) => {
    await Promise.all(rows.map(({ id }) => store.removeAll(`${id}/`)));
    await sql`UPDATE jobs SET files_removed = true, has_leftovers = attempts > 0
      WHERE id = ANY(${idsOf(rows)}::text[])`.execute(db);
  });
}

interface Leftover {
  readonly id: string;
  readonly token: number;
  readonly is_gone: boolean;
}

/**
 * Files and checkpoints of attempts before the one that completed: those were killed, or handed over. What was
 * played while it was made goes with them, minutes later. Of a job that failed or was deleted, what its worker stored before it noticed.
 */
async function removeLeftovers(options: JanitorOptions): Promise<void> {
  const { database: db, store, liveModalities } = options;
  const next = sql<Leftover>`
    SELECT id, token, state = 'failed' OR deleted_at IS NOT NULL AS is_gone FROM jobs
    WHERE has_leftovers AND (state = 'completed' AND deleted_at IS NULL
        AND (modality <> ALL(${liveModalities}::text[])
          OR ended_at <= now() - ${LIVE_KEPT_MS} * interval '1 millisecond')
      OR greatest(ended_at, deleted_at) <= now() - ${LATEST_FILE_MS} * interval '1 millisecond')
    ORDER BY ended_at LIMIT ${BATCH}`;
  await inBatches(db, next, async (rows) => {
    const folders = rows.flatMap(({ id, token, is_gone: isGone }) =>
      isGone
        ? [`${id}/`]
        : [
            ...Array.from({ length: token - 1 }, (_, index) => attemptFolder(id, index + 1)),
            liveFolder(id, token),
          ],
    );
    await Promise.all(folders.map((folder) => store.removeAll(folder)));
    await sql`UPDATE jobs SET has_leftovers = false
      WHERE id = ANY(${idsOf(rows)}::text[])`.execute(db);
  });
}

/**
 * Request and answer are forgotten minutes after the answer, and the files that the caller sent with
 * them. Files that were made stay as long as their links.
 */
async function forgetReplies({ database: db, store }: JanitorOptions): Promise<void> {
  const next = sql<{ id: string; has_made_files: boolean }>`
    SELECT id, artifacts <> '[]'::jsonb AS has_made_files FROM jobs
    WHERE NOT kept AND request <> '{}'::jsonb AND ended_at <= now() - interval '5 minutes'
    ORDER BY ended_at LIMIT ${BATCH}`;
  await inBatches(db, next, async (rows) => {
    await Promise.all(
      rows.map(({ id, has_made_files: hasMade }) =>
        store.removeAll(hasMade ? sentFolder(id) : `${id}/`),
      ),
    );
    await sql`UPDATE jobs SET request = '{}', output = NULL,
        files_removed = files_removed OR artifacts = '[]'::jsonb
      WHERE id = ANY(${idsOf(rows)}::text[])`.execute(db);
  });
}

/** Works through a query's rows, which `work` takes out of its result. */
async function inBatches<Row>(
  db: Db,
  next: Sql<Row>,
  work: (rows: readonly Row[]) => Promise<void>,
): Promise<void> {
  for (;;) {
    const { rows } = await next.execute(db);
    if (rows.length > 0) await work(rows);
    if (rows.length < BATCH) return;
  }
}

function idsOf(rows: readonly { readonly id: string }[]): string[] {
  return rows.map(({ id }) => id);
}

/** Batches of one round: a ledger whose retention was made shorter is caught up with in many. */
const MOST_BATCHES = 20;

/** Polled and stored jobs with their requests and answers, once their retention is over. */
async function forgetKept({
  database: db,
  modalities,
  retentionDays,
}: JanitorOptions): Promise<void> {
  for (let batch = 0; batch < MOST_BATCHES; batch += 1) {
    const { rows } = await sql`DELETE FROM jobs WHERE id IN (
      SELECT id FROM jobs WHERE kept AND files_removed AND modality = ANY(${modalities}::text[])
        AND ended_at < now() - ${retentionDays}::int * interval '1 day'
      LIMIT ${BATCH}) RETURNING id`.execute(db);
    if (rows.length < BATCH) return;
  }
}

/** Rows go when nothing of them is shown any more; charges and attempts stay. */
async function deleteOldRows(db: Db): Promise<void> {
  await sql`DELETE FROM jobs WHERE files_removed AND deleted_at < now() - interval '24 hours'`.execute(
    db,
  );
  await sql`DELETE FROM jobs WHERE NOT kept AND files_removed
    AND ended_at < now() - interval '24 hours'`.execute(db);
  await sql`UPDATE jobs SET idempotency_key = NULL
    WHERE idempotency_key IS NOT NULL AND created_at < now() - interval '24 hours'`.execute(db);
  await sql`DELETE FROM rate_limits
    WHERE expire < (extract(epoch FROM now()) * 1000)::bigint - 3600000`.execute(db);
}
