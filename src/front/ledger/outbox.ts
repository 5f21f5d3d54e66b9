import { createHash } from "node:crypto";
import type { Logger } from "pino";
import { type Db, sql } from "./database/sql.js";
import type { Artifact } from "../../core/artifact.js";
import type { Job } from "../../core/job.js";
import type { ServiceTier } from "../../core/service-tier.js";
import type { Broker } from "../../queue/index.js";
import type { Database } from "./database/database.js";
import { messageOf } from "../../core/errors.js";
import { every } from "../../core/async/every.js";
import { readStatement } from "./statements.js";

/** What the queue needs of an accepted job. */
export interface OutgoingJob {
  readonly id: string;
  readonly modality: string;
  readonly model: string;
  readonly service_tier: ServiceTier;
  readonly request: unknown;
  readonly request_file: Artifact | null;
  /** The replica whose caller waits; null = any. */
  readonly report_to: string | null;
  readonly expires_at_ms: number;
  readonly traceparent: string | null;
  readonly project_id: string;
}

/** Jobs that one queue serves. */
export interface QueueKey {
  readonly modality: string;
  readonly model: string;
  readonly serviceTier: ServiceTier;
}

interface QueueWindow extends QueueKey {
  /** Most released jobs that nobody has claimed yet. */
  readonly room: number;
}

/**
 * Messages ahead of the workers for each job that a model runs at once. The broker's queue is first in,
 * first out, so it holds a few only and the ledger the rest.
 */
const READY_PER_SLOT = 4;

export function roomOf(concurrency: number): number {
  return READY_PER_SLOT * concurrency;
}

/** Puts the next jobs of a queue into the outbox, as many as there is room for. */
const releaseNext = readStatement<QueueWindow, object>("queue-next");

/** Brings accepted jobs to the broker: confirmed, then forgotten. */
export interface Outbox {
  /**
   * Publishes a job that this replica has just committed. Rejects with `service_unavailable` when
   * the broker does not confirm it in time.
   */
  readonly publish: (job: OutgoingJob) => Promise<void>;
  /** gRPC address of this replica. */
  readonly reportTo: string;
  /** Publishes what lies in the table, now. */
  readonly wake: () => void;
  readonly close: () => Promise<void>;
}

export interface OutboxOptions {
  readonly database: Database;
  readonly broker: Broker;
  /** gRPC address that workers report to. */
  readonly reportTo: string;
  /** Jobs that a model runs at once. */
  readonly concurrencyOf: (model: string) => number;
  readonly log: Logger;
}

/** A caller is answered 503 within 2 s. */
const CONFIRM_MS = 1_500;
const INTERVAL_MS = 1_000;
/** Longest interval while nothing waits: what this front puts there wakes it, this is for the rows of others. */
const REST_MS = 5_000;
const BATCH = 50;
/** Well within the time for which the row of a published job is locked. */
const FORGET_MS = 500;

export function createOutbox(options: OutboxOptions): Outbox {
  const { database, broker, reportTo, log } = options;
  const send = async (job: OutgoingJob): Promise<void> =>
    await broker.publish(`${job.modality}.${job.model}`, toMessage(job, reportTo), {
      signal: AbortSignal.timeout(CONFIRM_MS),
    });
  const published = new Set<string>();
  const forget = async (): Promise<void> => {
    forgetting = undefined;
    const ids = [...published];
    published.clear();
    if (ids.length === 0) return;
    // A row that is not locked any more was put there again: its next message is still to go.
    await sql`DELETE FROM outbox
      WHERE job_id = ANY(${ids}::text[]) AND locked_until > now()`.execute(database);
  };
  const onError = (error: unknown): void =>
    log.warn({ message: messageOf(error) }, "outbox not emptied, trying again");
  let forgetting: NodeJS.Timeout | undefined;
  /** A row left behind is published once more and claimed in vain: no reason to keep anybody. */
  const forgetSoon = (id: string): void => {
    published.add(id);
    forgetting ??= setTimeout(() => void forget().catch(onError), FORGET_MS);
  };
  const repeating = every({
    intervalMs: INTERVAL_MS,
    restMs: REST_MS,
    onError,
    run: async () => {
      const hasWaiting = await releaseWaiting(options);
      const jobs = await takeBatch(database);
      const sent = await Promise.allSettled(
        jobs.map(async (job) => {
          await send(job);
          forgetSoon(job.id);
        }),
      );
      const failed = sent.find(({ status }) => status === "rejected");
      if (failed?.status === "rejected") onError(failed.reason);
      else if (jobs.length === BATCH) repeating.wake();
      return hasWaiting || jobs.length > 0 ? undefined : "idle";
    },
  });
  return {
    reportTo,
    async publish(job) {
      await send(job);
      forgetSoon(job.id);
    },
    wake: repeating.wake,
    async close() {
      await repeating.stop();
      clearTimeout(forgetting);
      await forget().catch(onError);
    },
  };
}

/** Fills the queues from the ledger, in the order of the fair queue. False where nothing waits there. */
async function releaseWaiting({ database, concurrencyOf }: OutboxOptions): Promise<boolean> {
  const waiting = await listWaiting(database);
  for (const key of waiting)
    await releaseNext(database, { ...key, room: roomOf(concurrencyOf(key.model)) });
  return waiting.length > 0;
}

/** Queues whose jobs wait in the ledger. */
async function listWaiting(db: Db): Promise<QueueKey[]> {
  const { rows } =
    await sql<QueueKey>`SELECT DISTINCT modality, model, service_tier AS "serviceTier"
    FROM jobs
    WHERE ended_at IS NULL AND released_at IS NULL`.execute(db);
  return rows;
}

/**
 * Locks rows for longer than publishing takes, without holding a transaction open meanwhile. The oldest
 * go first by the outbox alone: beside a small one the jobs would be walked through from the first.
 */
async function takeBatch(db: Database): Promise<OutgoingJob[]> {
  const { rows } = await sql<OutgoingJob>`
    WITH taken AS (
      UPDATE outbox SET locked_until = now() + interval '5 seconds' WHERE job_id IN (
        SELECT job_id FROM outbox WHERE locked_until <= now()
        ORDER BY created_at LIMIT ${BATCH} FOR UPDATE SKIP LOCKED)
      RETURNING job_id
    )
    SELECT id, modality, model, service_tier, request, request_file, report_to, traceparent, project_id,
      (extract(epoch FROM deadline_at) * 1000)::bigint AS expires_at_ms
    FROM jobs JOIN taken ON taken.job_id = jobs.id ORDER BY seq`.execute(db);
  return rows;
}

/** A worker learns which jobs are of one project, and not of which. */
function tenantOf(projectId: string): string {
  return createHash("sha256").update(`tenant ${projectId}`).digest("hex").slice(0, 32);
}

function toMessage(job: OutgoingJob, reportTo: string): Job {
  return {
    id: job.id,
    modality: job.modality,
    model: job.model,
    request: job.request_file === null ? job.request : null,
    expiresAtMs: job.expires_at_ms,
    reportTo: job.report_to ?? reportTo,
    serviceTier: job.service_tier,
    tenant: tenantOf(job.project_id),
    ...(job.request_file !== null && { requestFile: job.request_file }),
    ...(job.traceparent !== null && { traceparent: job.traceparent }),
  };
}
