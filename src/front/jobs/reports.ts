import { LRUCache } from "lru-cache";
import type { Logger } from "pino";
import { type Artifact, attemptFolder } from "../../core/artifact.js";
import { isBlamed, JobError, reasonOf } from "../../core/errors.js";
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
} from "../../core/reports.js";
import { traced, type Tracer, UNTRACED } from "../../core/tracing.js";
import {
  nanoPriceOf,
  type Prices,
  priceOf,
  tokensOf,
  UNIT_NAMES,
  type Units,
} from "../../core/usage.js";
import type { ArtifactStore } from "../../storage/index.js";
import {
  type Claimer,
  claimJobs,
  closeAttempt,
  type CompletedRun,
  completeJobs,
  type Completion,
  type Database,
  type Db,
  failAttempt,
  failMissedStarts,
  type Fencing,
  findEnding,
  findLiveLease,
  findOwnLease,
  LEASE_MS,
  noteWorker,
  recordProgress,
  releaseJob,
  renewLease,
  RETRY_DELAYS_MS,
  sql,
} from "../ledger/index.js";
import { type Limits, withOutages } from "../http/index.js";
import { groupCommit } from "../../core/async/group-commit.js";
import type { Chunk } from "../../core/events.js";
import { isPolled, type Schema } from "../../core/modality.js";
import { findModalityOfJob } from "../../modalities/registry.js";
import type { LiveStreams } from "./live-streams.js";
import { readOutput } from "./content.js";

type ProgressResult = Pick<HeartbeatResult, "outcome" | "cancel">;

/** What workers' reports do to the ledger; `rpc/report-server` carries them here. */
export interface ReportHandlers {
  readonly claim: (jobId: string, workerId: string) => Promise<ClaimResult>;
  readonly heartbeat: (lease: LeaseRef, workerId: string) => Promise<HeartbeatResult>;
  readonly progress: (report: ProgressReport) => Promise<ProgressResult>;
  readonly complete: (report: CompletionReport) => Promise<CompletionResult>;
  readonly fail: (report: FailureReport) => Promise<FailureResult>;
  readonly release: (report: ReleaseReport) => Promise<CompletionResult>;
  readonly announce: (status: WorkerStatus) => Promise<WorkerOrders>;
}

export interface ReportsOptions {
  readonly database: Database;
  readonly store: ArtifactStore;
  /** Answers that callers of this replica wait for. */
  readonly streams: LiveStreams;
  readonly fencing: Fencing;
  /** Room in the queue, or a job that is to go there. */
  readonly wakeOutbox: () => void;
  /** A job has completed: what it took. */
  readonly noteRun: (run: CompletedRun) => void;
  readonly limits: Pick<Limits, "takeTokens">;
  readonly sent: SentReader;
  readonly tracer?: Tracer;
}

const HELD = { outcome: "held", cancel: false } as const;
const ENDED = { outcome: "stale", cancel: false } as const;
const RECORDED = { outcome: "recorded" } as const;
const STALE = { outcome: "stale" } as const;
const NO_LEASE = { ...ENDED, leaseMs: 0, drain: false } as const;
/** Reports that one transaction takes. */
const MOST_TOGETHER = 32;

export function createReportHandlers({
  database: db,
  store,
  streams,
  fencing,
  wakeOutbox,
  noteRun,
  limits,
  sent,
  tracer = UNTRACED,
}: ReportsOptions): ReportHandlers {
  // Prices and units of accepted jobs never change: what a claim read is still true at the end.
  const quotes = new LRUCache<string, QuotedJob>({ max: REMEMBERED });
  const completed = new LRUCache<string, true>({ max: REMEMBERED });
  const claimShared = groupCommit(
    async (claimers: readonly Claimer[]) => await claimJobs(db, claimers),
    MOST_TOGETHER,
  );
  const completeShared = groupCommit(
    async (completions: readonly Completion[]) => await completeJobs(db, completions),
    MOST_TOGETHER,
  );
  const charge = traceCharges(completeShared, tracer);
  /** Within `handle` a token is the ledger's number of a claim; what no front has sealed is `stale`. */
  const fenced =
    <Report extends LeaseRef, Answer>(
      stale: Answer,
      handle: (report: Report, sealed: number) => Promise<Answer>,
    ): ((report: Report) => Promise<Answer>) =>
    async (report) => {
      const token = fencing.open(report);
      return token === undefined
        ? stale
        : await withOutages(handle({ ...report, token }, report.token));
    };
  const claim = async (jobId: string, workerId: string): Promise<ClaimResult> => {
    const { claim: taken, othersWait } = await claimShared({ jobId, workerId });
    if (othersWait) wakeOutbox();
    if (taken === undefined) return await refuseClaim(db, jobId);
    const { attempt, prices, checkpoint, reportTo } = taken;
    quotes.set(jobId, taken);
    streams.hold({ jobId, token: taken.token }, LEASE_MS);
    const token = fencing.seal(jobId, taken.token);
    const lease = { jobId, token, attempt, leaseMs: LEASE_MS, prices };
    return { outcome: "leased", lease, checkpoint, ...(reportTo !== null && { reportTo }) };
  };
  return {
    claim: (...call) => withOutages(claim(...call)),
    heartbeat: fenced<LeaseRef, HeartbeatResult>(NO_LEASE, async (lease) => {
      const renewed = await renewLease(db, lease);
      if (renewed === undefined) return { ...NO_LEASE, ...(await refuseLease(db, lease.jobId)) };
      streams.hold(lease, LEASE_MS);
      return { ...HELD, leaseMs: LEASE_MS, ...renewed };
    }),
    progress: fenced<ProgressReport, ProgressResult>(ENDED, async (unread) => {
      const report = await sent.readPieces(unread);
      // What follows such a piece would be charged, and no caller could have it.
      if (report === undefined) return await failMalformed(db, unread);
      const taken = await streams.take(report);
      if (taken !== undefined) return taken;
      // A short job's first words often come after its end, on a stream of their own.
      if (completed.has(report.jobId)) return ENDED;
      const progress = { percent: report.fraction * 100, stage: report.stage };
      if (await recordProgress(db, report, progress)) return HELD;
      return await refuseLease(db, report.jobId);
    }),
    complete: fenced<CompletionReport, CompletionResult>(STALE, async (report, sealed) => {
      const folders = foldersOf(report, sealed);
      const quote = quotes.get(report.jobId) ?? (await readQuote(db, report.jobId));
      if (quote !== undefined) checkCompletion(quote, report);
      checkOwn(report.artifacts, folders);
      const missing = await findMissing(store, report.artifacts);
      if (missing !== undefined && (await findOwnLease(db, report)) !== undefined)
        throw artifactsError(`${missing.id} of ${missing.byteLength} bytes is not in the store`);
      await sent.checkOutput(report);
      const isAwaited = streams.awaits(report.jobId);
      const amountNanoUsd = quote === undefined ? 0 : nanoPriceOf(quote.prices, report.usage);
      const isLive = findModalityOfJob(report.jobId)?.endpoint.isLive === true;
      const done = await charge({ report, amountNanoUsd, isAwaited, isLive });
      if (done === null) return await refuseCompletion(db, { store, report, folders });
      quotes.delete(report.jobId);
      completed.set(report.jobId, true);
      streams.complete(done);
      noteRun(done);
      // The front that has the caller counts what it answers with.
      const tokens = quote?.reportTo === null ? tokensOf(report.usage) : 0;
      if (tokens > 0) limits.takeTokens({ id: done.project_id }, tokens);
      return RECORDED;
    }),
    fail: fenced({ outcome: "stale", retryAfterMs: 0 }, (report) => recordFailure(db, report)),
    release: fenced<ReleaseReport, CompletionResult>(STALE, async (report, sealed) => {
      if (report.checkpoint !== null) checkOwn([report.checkpoint], foldersOf(report, sealed));
      if (await releaseJob(db, report)) return RECORDED;
      const ending = await findEnding(db, report.jobId);
      const isRepeated =
        ending?.token === report.token && ending.state === "in_progress" && !ending.held;
      return isRepeated ? RECORDED : STALE;
    }),
    announce: (status) => withOutages(noteWorker(db, status)),
  };
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

async function refuseLease(db: Db, jobId: string) {
  const ending = await findEnding(db, jobId);
  return { outcome: "stale", cancel: ending?.failure?.code === "cancelled" } as const;
}

async function refuseClaim(db: Db, jobId: string): Promise<ClaimResult> {
  await failMissedStarts(db);
  const retryAfterMs = await findLiveLease(db, jobId);
  return retryAfterMs === undefined
    ? { outcome: "already-done" }
    : { outcome: "busy", retryAfterMs: Math.max(1, retryAfterMs) };
}

async function refuseCompletion(
  db: Db,
  {
    store,
    report,
    folders,
  }: {
    readonly store: ArtifactStore;
    readonly report: CompletionReport;
    readonly folders: readonly string[];
  },
): Promise<CompletionResult> {
  const ending = await findEnding(db, report.jobId);
  if (ending?.state === "completed" && ending.token === report.token) return RECORDED;
  await removeOrphans(store, folders, ending?.checkpoint_id ?? null);
  return { outcome: "stale" };
}

async function failMalformed(
  db: Db,
  { jobId, token, traceparent }: ProgressReport,
): Promise<typeof ENDED> {
  const message = "a piece of the answer could not be read";
  const failure = { code: "invalid_output", message } as const;
  await recordFailure(db, { jobId, token, traceparent, failure, retryable: true, gpuMs: 0 });
  return ENDED;
}

async function recordFailure(db: Db, report: FailureReport): Promise<FailureResult> {
  const isOwn = isBlamed(report.failure.code);
  const failed = await failAttempt(db, report, isOwn);
  if (failed !== undefined)
    return failureResult(failed.state, isOwn ? failed.crashes : failed.setbacks);
  const ending = await findEnding(db, report.jobId);
  if (ending?.token !== report.token) return { outcome: "stale", retryAfterMs: 0 };
  if (ending.state === "failed") {
    // Cancelled while it ran: nothing moves, but its GPU time is known only now.
    await closeAttempt(db, report);
    return failureResult("failed", 0);
  }
  const isRepeated = ending.state === "in_progress" && !ending.held;
  return isRepeated ? failureResult("in_progress", 1) : { outcome: "stale", retryAfterMs: 0 };
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
  /** Null where nobody waits. */
  readonly reportTo: string | null;
}

/** What this replica knows of attempts without asking the ledger, each of the last so many. */
const REMEMBERED = 10_000;

async function readQuote(db: Db, jobId: string): Promise<QuotedJob | undefined> {
  const { rows } = await sql<QuotedJob>`SELECT prices, quoted_units AS "quotedUnits",
    report_to AS "reportTo" FROM jobs WHERE id = ${jobId}`.execute(db);
  return rows[0];
}

/** A caller never pays another price, nor more, than was quoted, and never for a file that is not there. */
function checkCompletion(
  { prices, quotedUnits: most }: QuotedJob,
  { jobId, usage, cost, artifacts }: CompletionReport,
): void {
  const beyond = UNIT_NAMES.find((name) => (usage[name] ?? 0) > (most[name] ?? 0));
  if (beyond !== undefined)
    throw costError(`${beyond} is above what was quoted, got ${usage[beyond] ?? 0}`);
  if (cost.amountMicroUsd !== priceOf(prices, usage))
    throw costError(
      `the amount is not what the lease's prices make of the units, got ${cost.amountMicroUsd}`,
    );
  const modality = findModalityOfJob(jobId);
  const isFile = modality !== undefined && isPolled(modality);
  if (isFile && !artifacts.some(({ variant }) => variant === "content"))
    throw artifactsError("a polled job has an artifact of variant content, got none");
}

function costError(message: string): JobError {
  return new JobError("invalid_value", `cost: ${message}`, { param: "cost" });
}

function artifactsError(message: string): JobError {
  return new JobError("invalid_value", `artifacts: ${message}`, { param: "artifacts" });
}

/** Where an attempt's files may lie: workers of before put them under the token as they knew it. */
function foldersOf({ jobId, token }: LeaseRef, sealed: number): readonly string[] {
  return [attemptFolder(jobId, token), attemptFolder(jobId, sealed)];
}

function checkOwn(artifacts: readonly Artifact[], folders: readonly string[]): void {
  const foreign = artifacts.find(({ id }) => !folders.some((folder) => id.startsWith(folder)));
  if (foreign !== undefined) throw artifactsError(`${foreign.id} is not below ${folders[0]}`);
}

/** An artifact that is not in the store as it was reported. */
async function findMissing(
  store: ArtifactStore,
  artifacts: readonly Artifact[],
): Promise<Artifact | undefined> {
  const sizes = await Promise.all(artifacts.map(({ id }) => store.findSize(id))).catch(
    (cause: unknown) => {
      // A store that does not answer is away: the worker asks again.
      throw new JobError("service_unavailable", "the artifact store does not answer", { cause });
    },
  );
  return artifacts.find(({ byteLength }, index) => sizes[index] !== byteLength);
}

/** What a worker without its lease uploaded belongs to nobody, unless the next attempt resumes from it. */
async function removeOrphans(
  store: ArtifactStore,
  folders: readonly string[],
  checkpointId: string | null,
): Promise<void> {
  for (const folder of folders)
    if (checkpointId?.startsWith(folder) !== true) await store.removeAll(folder);
}

interface SentReaderOptions {
  readonly database: Database;
  readonly store: ArtifactStore;
  readonly log: Logger;
}

type SentReader = ReturnType<typeof createSentReader>;

/** Reads what workers send of a job as its modality says that it is; what is not is logged with its worker. */
export function createSentReader({ database, store, log }: SentReaderOptions) {
  /** What keeps the value from being read; undefined where nothing does. */
  const parse = async <Result>(jobId: string, what: string, read: () => Result) => {
    try {
      return { value: read() };
    } catch (thrown) {
      const reason = reasonOf(thrown);
      const workerId = await findWorkerId(database, jobId);
      log.error({ jobId, workerId, reason }, `a worker sent ${what} that cannot be read`);
      return { reason };
    }
  };
  return {
    /** Throws `invalid_value` where the output is none of the job's modality. */
    async checkOutput(report: CompletionReport): Promise<void> {
      const { jobId, output, artifacts } = report;
      const schema = findModalityOfJob(jobId)?.schemas.output;
      if (schema === undefined) return;
      const whole = await readOutput(store, { output, artifacts, expired: false });
      const { reason } = await parse(jobId, "an output", () => schema.parse(whole));
      if (reason === undefined) return;
      const message = `output: it is not what the modality says, got ${reason.slice(0, 400)}`;
      throw new JobError("invalid_value", message, { param: "output" });
    },
    /** The report with the pieces of its answer parsed; undefined where one is none of the job's modality. */
    async readPieces(report: ProgressReport): Promise<ProgressReport | undefined> {
      const { jobId, chunks } = report;
      if (chunks === undefined) return report;
      const schema = findModalityOfJob(jobId)?.schemas.delta;
      if (schema === undefined) return report;
      const read = () => chunks.map((chunk) => readPiece(chunk, schema));
      const { value } = await parse(jobId, "a piece of an answer", read);
      return value && { ...report, chunks: value };
    },
  };
}

function readPiece(chunk: Chunk, schema: Schema<unknown>): Chunk {
  return chunk.type === "bytes" ? chunk : { ...chunk, value: schema.parse(chunk.value) };
}

/** Null where nobody holds the job, or the database does not answer. */
async function findWorkerId(db: Db, jobId: string): Promise<string | null> {
  const job = sql<{ worker_id: string | null }>`SELECT worker_id FROM jobs WHERE id = ${jobId}`;
  return await job.execute(db).then(
    ({ rows }) => rows[0]?.worker_id ?? null,
    () => null,
  );
}
