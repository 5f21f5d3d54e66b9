import {
  sql,
  type JobNotifications,
  type JobRecord,
  type Database,
  rankOf,
} from "../ledger/index.js";
import { isEndState, type JobState } from "../../core/job.js";
import { JobError } from "../../core/errors.js";
import { groupCommit } from "../../core/async/group-commit.js";

/** Longest silence of a stream of events, in milliseconds: proxies close what says nothing. */
export const KEEP_ALIVE_MS = 15_000;
/** Says that the stream lives, and nothing else. */
export const KEEP_ALIVE = ": keep-alive\n\n";

export interface EventsOptions {
  readonly jobId: string;
  readonly signal: AbortSignal;
  /** Monotonic milliseconds. */
  readonly now: () => number;
  readonly look: LookAtJob;
  /** Undefined when the job was deleted. */
  readonly read: () => Promise<JobRecord | undefined>;
  /** The events that a state of the job brings. */
  readonly write: (record: JobRecord) => string | Promise<string>;
}

/** Server-sent events of a job as it is now, at each change, and at its end. */
export async function* jobEvents(
  notifications: JobNotifications,
  options: EventsOptions,
): AsyncGenerator<string> {
  const { jobId, signal, now, look, read, write } = options;
  const watch = notifications.watch(jobId);
  let shown = "";
  let sentAtMs = now();
  try {
    while (!signal.aborted) {
      const job = await look(jobId);
      if (job === undefined) return;
      if (stateOf(job) !== shown) {
        const record = await read();
        if (record === undefined) return;
        shown = stateOf(record);
        sentAtMs = now();
        yield await write(record);
        if (isEndState(record.state)) return;
      } else if (now() - sentAtMs >= KEEP_ALIVE_MS) {
        sentAtMs = now();
        yield KEEP_ALIVE;
      }
      await watch.next(untilPoll(now()), signal);
    }
  } finally {
    watch.close();
  }
}

/** What counts as a change; an estimate that drifts does not. */
function stateOf({ state, progress, stage, jobs_ahead: ahead }: WatchedJob): string {
  return [state, progress, stage, ahead].join(" ");
}

/** Notifications may be interrupted; the ledger is read again after this long anyway. */
export const POLL_MS = 2_000;
const MAX_WAIT_SECONDS = 60;

/** Milliseconds until all watchers of this front look again, so that one query serves them. */
export function untilPoll(nowMs: number): number {
  return POLL_MS - (nowMs % POLL_MS);
}

interface WaitOptions {
  readonly jobId: string;
  readonly waitMs: number;
  readonly signal: AbortSignal;
  /** Monotonic milliseconds. */
  readonly now: () => number;
  readonly look: LookAtJob;
  /** Throws where the job was deleted. */
  readonly read: () => Promise<JobRecord>;
}

/** `?wait=SECONDS` in milliseconds. */
export function parseWait(value: unknown, defaultMs = 0): number {
  if (value === undefined) return defaultMs;
  const seconds = typeof value === "string" && /^\d{1,2}$/.test(value) ? Number(value) : Infinity;
  if (seconds <= MAX_WAIT_SECONDS) return seconds * 1_000;
  throw new JobError("invalid_value", `wait must be 0 to ${MAX_WAIT_SECONDS} whole seconds`, {
    param: "wait",
  });
}

/** The job when it has ended, or as it is when the time is up. */
export async function waitForEnd(
  notifications: JobNotifications,
  options: WaitOptions,
): Promise<JobRecord> {
  const { jobId, waitMs, signal, now, look, read } = options;
  const endMs = now() + waitMs;
  const watch = notifications.watch(jobId);
  try {
    for (;;) {
      const job = await look(jobId);
      const leftMs = endMs - now();
      const isOver = job === undefined || isEndState(job.state);
      if (isOver || leftMs <= 0 || signal.aborted) return await read();
      await watch.next(Math.min(leftMs, untilPoll(now())), signal);
    }
  } finally {
    watch.close();
  }
}

/** What of a job is compared to find out whether it has changed. */
interface WatchedJob {
  readonly state: JobState;
  readonly progress: number;
  readonly stage: string | null;
  /** As a job's record has it: 0 for one that waits no longer. */
  readonly jobs_ahead: number | null;
}

/** Undefined for a job that was deleted. */
export type LookAtJob = (id: string) => Promise<WatchedJob | undefined>;

/** Watchers that one query serves. */
const MOST_TOGETHER = 512;

/** Whoever watches a job looks at it through this: those that look at the same time share one query. */
export function createLookAtJob(db: Database): LookAtJob {
  const look = groupCommit(async (ids: readonly string[]) => {
    const unique = [...new Set(ids)];
    const { rows } = await sql<WatchedJob & { readonly id: string }>`
      WITH watched AS (
        SELECT id, modality, model, state, progress, stage FROM jobs
        WHERE id = ANY(${unique}::text[]) AND deleted_at IS NULL
      ), ahead AS (
        SELECT q.id, (row_number() OVER (PARTITION BY q.modality, q.model
          ORDER BY ${rankOf(sql`q.service_tier`)}, q.seq) - 1)::int AS jobs_ahead
        FROM jobs q WHERE q.state = 'queued' AND (q.modality, q.model) IN
          (SELECT modality, model FROM watched WHERE state = 'queued')
      )
      SELECT watched.id, watched.state, watched.progress, watched.stage,
        coalesce(ahead.jobs_ahead, 0) AS jobs_ahead
      FROM watched LEFT JOIN ahead ON ahead.id = watched.id`.execute(db);
    const found = new Map(rows.map((row) => [row.id, row]));
    return ids.map((id) => ({ job: found.get(id) }));
  }, MOST_TOGETHER);
  return async (id) => (await look(id)).job;
}
