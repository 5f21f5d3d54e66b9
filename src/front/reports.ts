import { LRUCache } from "lru-cache";
import { isBlamed, JobError } from "../core/errors.js";
import type {
  ClaimResult,
  CompletionReport,
  CompletionResult,
  FailureReport,
  FailureResult,
  HeartbeatResult,
  LeaseRef,
  ProgressReport,
  ReleaseReport,
  WorkerOrders,
  WorkerStatus,
} from "../core/reports.js";
import { traced, type Tracer, UNTRACED } from "../core/tracing.js";
import { nanoPriceOf, type Prices, priceOf, UNIT_NAMES, type Units } from "../core/usage.js";
import type { ArtifactStore } from "../storage/artifact-store.js";
import type { Database } from "./database.js";
import { withOutages } from "./errors.js";
import type { Exchanges } from "./exchanges.js";
import { type Claimer, claimJobs } from "./claims.js";
import { type Completion, completeJobs } from "./completions.js";
import {
  closeAttempt,
  failAttempt,
  findEnding,
  findLiveLease,
  LEASE_MS,
  recordProgress,
  releaseJob,
  renewLease,
  RETRY_DELAYS_MS,
} from "./jobs.js";
import { attemptFolder } from "./new-job.js";
import type { CompletedRun } from "./paces.js";
import { together } from "./together.js";
import { noteWorker } from "./workers.js";

/** What workers' reports do to the ledger; `rpc/report-server` carries them here. */
export interface ReportHandlers {
  readonly claim: (jobId: string, workerId: string) => Promise<ClaimResult>;
  readonly heartbeat: (lease: LeaseRef, workerId: string) => Promise<HeartbeatResult>;
  readonly progress: (
    report: ProgressReport,
  ) => Promise<Pick<HeartbeatResult, "outcome" | "cancel">>;
  readonly complete: (report: CompletionReport) => Promise<CompletionResult>;
  readonly fail: (report: FailureReport) => Promise<FailureResult>;
  readonly release: (report: ReleaseReport) => Promise<CompletionResult>;
  readonly announce: (status: WorkerStatus) => Promise<WorkerOrders>;
}

export interface ReportsOptions {
  readonly database: Database;
  readonly store: ArtifactStore;
  /** Answers that callers of this replica wait for. */
  readonly exchanges: Exchanges;
  /** Room in the queue, or a job that is to go there. */
  readonly wakeOutbox: () => void;
  /** A job has completed: what it took. */
  readonly noteRun: (run: CompletedRun) => void;
  readonly tracer?: Tracer;
}

const HELD = { outcome: "held", cancel: false } as const;
const ENDED = { outcome: "stale", cancel: false } as const;
const RECORDED = { outcome: "recorded" } as const;
/** Reports that one transaction takes. */
const MOST_TOGETHER = 32;

export function createReportHandlers({
  database,
  store,
  exchanges,
  wakeOutbox,
  noteRun,
  tracer = UNTRACED,
}: ReportsOptions): ReportHandlers {
  const db = database.kysely;
  // Prices and units of accepted jobs never change: what a claim read is still true at the end.
  const quotes = new LRUCache<string, QuotedJob>({ max: REMEMBERED });
  const completed = new LRUCache<string, true>({ max: REMEMBERED });
  const claimShared = together(claimer(database), MOST_TOGETHER);
  const charge = traceCharges(together(completer(database), MOST_TOGETHER), tracer);
  const handlers: ReportHandlers = {
    async claim(jobId, workerId) {
      const { claim, othersWait } = await claimShared({ jobId, workerId });
      if (othersWait) wakeOutbox();
      if (claim === undefined) return await refuseClaim(database, jobId);
      const { token, attempt, prices, checkpoint } = claim;
      quotes.set(jobId, { prices, quotedUnits: claim.quotedUnits });
      const lease = { jobId, token, attempt, leaseMs: LEASE_MS, prices };
      return { outcome: "leased", lease, checkpoint };
    },
    async heartbeat(lease) {
      const renewed = await renewLease(db, lease);
      if (renewed !== undefined) return { ...HELD, leaseMs: LEASE_MS, ...renewed };
      return { ...(await refuseLease(database, lease.jobId)), leaseMs: 0, drain: false };
    },
    async progress(report) {
      const taken = exchanges.take(report);
      if (taken !== undefined) return taken;
      // A short job's first words often come after its end, on a stream of their own.
      if (completed.has(report.jobId)) return ENDED;
      const progress = { percent: report.fraction * 100, stage: report.stage };
      if (await recordProgress(db, report, progress)) return HELD;
      return await refuseLease(database, report.jobId);
    },
    async complete(report) {
      const quote = quotes.get(report.jobId) ?? (await readQuote(database, report.jobId));
      if (quote !== undefined) checkCompletion(quote, report);
      const isAwaited = exchanges.awaits(report.jobId);
      const amountNanoUsd = quote === undefined ? 0 : nanoPriceOf(quote.prices, report.usage);
      const done = await charge({ report, amountNanoUsd, isAwaited });
      if (done === null) return await refuseCompletion({ database, store }, report);
      quotes.delete(report.jobId);
      completed.set(report.jobId, true);
      exchanges.complete(done);
      noteRun(done);
      return RECORDED;
    },
    fail: async (report) => await recordFailure(database, report),
    async release(report) {
      if (await releaseJob(db, report)) return RECORDED;
      const ending = await findEnding(db, report.jobId);
      const repeated =
        ending?.token === report.token && ending.state === "in_progress" && !ending.held;
      return repeated ? RECORDED : { outcome: "stale" };
    },
    announce: async (status) => await noteWorker(db, status),
  };
  return {
    claim: (...call) => withOutages(handlers.claim(...call)),
    heartbeat: (...call) => withOutages(handlers.heartbeat(...call)),
    progress: (...call) => withOutages(handlers.progress(...call)),
    complete: (...call) => withOutages(handlers.complete(...call)),
    fail: (...call) => withOutages(handlers.fail(...call)),
    release: (...call) => withOutages(handlers.release(...call)),
    announce: (...call) => withOutages(handlers.announce(...call)),
  };
}

function claimer({ kysely }: Database) {
  return async (claimers: readonly Claimer[]) => await claimJobs(kysely, claimers);
}

function completer({ kysely }: Database) {
  return async (completions: readonly Completion[]) => await completeJobs(kysely, completions);
}

/** The transaction that ends a job and charges for it, in a span of each job that shares it. */
function traceCharges<Answer>(complete: (one: Completion) => Promise<Answer>, tracer: Tracer) {
  return async (completion: Completion): Promise<Answer> => {
    const { traceparent: parent, cost } = completion.report;
    const attributes = { "framemill.cost.micro_usd": cost.amountMicroUsd };
    const span = tracer.start("charge", { parent, attributes });
    return await traced(span, async () => await complete(completion));
  };
}

async function refuseLease({ kysely }: Database, jobId: string) {
  const ending = await findEnding(kysely, jobId);
  return { outcome: "stale", cancel: ending?.failure?.code === "cancelled" } as const;
}

async function refuseClaim({ kysely }: Database, jobId: string): Promise<ClaimResult> {
  const retryAfterMs = await findLiveLease(kysely, jobId);
  return retryAfterMs === undefined
    ? { outcome: "already-done" }
    : { outcome: "busy", retryAfterMs: Math.max(1, retryAfterMs) };
}

async function refuseCompletion(
  { database: { kysely }, store }: Pick<ReportsOptions, "database" | "store">,
  report: CompletionReport,
): Promise<CompletionResult> {
  const ending = await findEnding(kysely, report.jobId);
  if (ending?.state === "completed" && ending.token === report.token) return RECORDED;
  await removeOrphans(store, report, ending?.checkpoint_id ?? null);
  return { outcome: "stale" };
}

async function recordFailure({ kysely }: Database, report: FailureReport): Promise<FailureResult> {
  const isOwn = isBlamed(report.failure.code);
  const failed = await failAttempt(kysely, report, isOwn);
  if (failed !== undefined)
    return failureResult(failed.state, isOwn ? failed.crashes : failed.setbacks);
  const ending = await findEnding(kysely, report.jobId);
  if (ending?.token !== report.token) return { outcome: "stale", retryAfterMs: 0 };
  if (ending.state === "failed") {
    // Cancelled while it ran: nothing moves, but its GPU time is known only now.
    await closeAttempt(kysely, report);
    return failureResult("failed", 0);
  }
  const repeated = ending.state === "in_progress" && !ending.held;
  return repeated ? failureResult("in_progress", 1) : { outcome: "stale", retryAfterMs: 0 };
}

/** `times` it ended so: each pause is longer than the one before. */
function failureResult(state: "in_progress" | "failed", times: number): FailureResult {
  if (state === "failed") return { outcome: "failed", retryAfterMs: 0 };
  const step = Math.min(Math.max(times - 1, 0), RETRY_DELAYS_MS.length - 1);
  return { outcome: "retry", retryAfterMs: RETRY_DELAYS_MS[step] ?? RETRY_DELAYS_MS[0] };
}

/** What is fixed of a job's price when it is accepted. */
interface QuotedJob {
  readonly prices: Prices;
  readonly quotedUnits: Units;
}

/** What this replica knows of attempts without asking the ledger, each of the last so many. */
const REMEMBERED = 10_000;

async function readQuote({ kysely }: Database, jobId: string): Promise<QuotedJob | undefined> {
  return await kysely
    .selectFrom("jobs")
    .select(["prices", "quoted_units as quotedUnits"])
    .where("id", "=", jobId)
    .executeTakeFirst();
}

/** A caller never pays another price, nor more, than was quoted; files are the job's own. */
function checkCompletion({ prices, quotedUnits: most }: QuotedJob, report: CompletionReport): void {
  const { jobId, token, usage, cost, artifacts } = report;
  const beyond = UNIT_NAMES.find((name) => (usage[name] ?? 0) > (most[name] ?? 0));
  if (beyond !== undefined)
    throw costError(`${beyond} must be at most ${most[beyond] ?? 0}, got ${usage[beyond] ?? 0}`);
  const amount = priceOf(prices, usage);
  if (cost.amountMicroUsd !== amount)
    throw costError(`amount must be ${amount} micro-dollars, got ${cost.amountMicroUsd}`);
  const foreign = artifacts.find(({ id }) => !id.startsWith(`${jobId}/${token}/`));
  if (foreign !== undefined)
    throw new JobError("invalid_value", `${foreign.id} is not below ${jobId}/${token}/`, {
      param: "artifacts",
    });
}

function costError(message: string): JobError {
  return new JobError("invalid_value", `cost: ${message}`, { param: "cost" });
}

/** What a late worker uploaded belongs to nobody, unless the next attempt resumes from it. */
async function removeOrphans(
  store: ArtifactStore,
  { jobId, token }: LeaseRef,
  checkpointId: string | null,
): Promise<void> {
  const prefix = attemptFolder(jobId, token);
  if (checkpointId?.startsWith(prefix) !== true) await store.removeAll(prefix);
}
