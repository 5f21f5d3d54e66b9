import { isoTime } from "./usage-rollup.js";
import { type Db, type Sql, sql } from "./database/sql.js";
import type { WorkerOrders, WorkerStatus } from "../../core/reports.js";
import { recordPaidTime } from "./gpu-cost.js";

/** A worker and what it holds. */
export interface WorkerSummary extends WorkerStatus {
  /** Whether an operator wants it to finish its jobs and take no more. */
  readonly drain: boolean;
  readonly jobs: readonly WorkerJob[];
  /** ISO 8601. */
  readonly seenAt: string;
}

export interface WorkerJob {
  readonly id: string;
  readonly model: string;
  readonly stage: string | null;
  /** 0 to 100. */
  readonly progress: number;
}

/** Three announcements missed. */
export const ABSENT_MS = 15_000;

/** Whether an operator wants the worker of this name drained, as SQL. */
function isDraining(workerId: Sql): Sql<boolean> {
  return sql<boolean>`EXISTS (SELECT FROM drained_workers WHERE drained_workers.id = ${workerId})`;
}

/** Notes that a worker is there, or that it has left, and says what it is to do. */
export async function noteWorker(db: Db, status: WorkerStatus): Promise<WorkerOrders> {
  const { workerId, ...facts } = status;
  return await db.transaction(async (trx) => {
    await recordPaidTime(trx, status);
    return await noteStatus(trx, workerId, facts);
  });
}

async function noteStatus(
  db: Db,
  workerId: string,
  facts: Omit<WorkerStatus, "workerId">,
): Promise<WorkerOrders> {
  const query =
    facts.state === "stopped"
      ? sql<WorkerOrders>`DELETE FROM workers WHERE id = ${workerId}
        RETURNING false AS drain`
      : sql<WorkerOrders>`INSERT INTO workers (id, status, seen_at)
        VALUES (${workerId}, ${JSON.stringify(facts)}::jsonb, now())
        ON CONFLICT (id) DO UPDATE SET status = excluded.status, seen_at = excluded.seen_at
        RETURNING ${isDraining(sql`workers.id`)} AS drain`;
  const { rows } = await query.execute(db);
  return rows[0] ?? { drain: false };
}

/** Those that announced themselves lately, with the jobs whose leases they hold. */
export async function listWorkers(db: Db): Promise<WorkerSummary[]> {
  const { rows } = await sql<Row>`SELECT status, id AS "workerId",
      ${isoTime(sql`seen_at`)} AS "seenAt",
      ${isDraining(sql`workers.id`)} AS drain,
      (SELECT coalesce(jsonb_agg(jsonb_build_object('id', jobs.id, 'model', jobs.model,
          'stage', jobs.stage, 'progress', jobs.progress) ORDER BY jobs.seq), '[]')
        FROM jobs WHERE jobs.worker_id = workers.id AND jobs.state = 'in_progress'
          AND jobs.lease_until > now()) AS jobs
    FROM workers WHERE seen_at > now() - ${ABSENT_MS} * interval '1 millisecond'
    ORDER BY id`.execute(db);
  return rows.map(({ status, ...row }) => Object.assign(row, status));
}

/** Wants a worker drained, or no longer so. The name need not be known yet: it holds for whoever bears it. */
export async function setDrain(db: Db, workerId: string, drain: boolean): Promise<void> {
  const query = drain
    ? sql`INSERT INTO drained_workers (id) VALUES (${workerId}) ON CONFLICT DO NOTHING`
    : sql`DELETE FROM drained_workers WHERE id = ${workerId}`;
  await query.execute(db);
}

/** Forgets workers that left without a word. */
export async function forgetWorkers(db: Db): Promise<void> {
  await sql`DELETE FROM workers WHERE seen_at < now() - interval '1 hour'`.execute(db);
}

interface Row extends Pick<WorkerSummary, "workerId" | "drain" | "jobs" | "seenAt"> {
  readonly status: Omit<WorkerStatus, "workerId">;
}
