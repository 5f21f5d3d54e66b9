import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import pRetry from "p-retry";
import { type Artifact, attemptFolder } from "../core/artifact.js";
import { orAbort } from "../core/async/deadline.js";
import { JobError, reasonOf, toJobError } from "../core/errors.js";
import { WAITING } from "../core/events.js";
import { toFailure, type Job, type Lease } from "../core/job.js";
import type { Modality } from "../core/modality.js";
import type { ClaimResult, CompletionReport, ProgressStream } from "../core/reports.js";
import { type Span, traced, traceFields } from "../core/tracing.js";
import { priceOf } from "../core/usage.js";
import type { Delivery, Settlement } from "../queue/index.js";
import { type Attempt, startAttempt, type WorkerDeps } from "./attempt.js";
import {
  createLivePieces,
  createPreviews,
  keepCheckpoint,
  type LivePieces,
  type Previews,
  readCheckpoint,
  type Saved,
  whenStoreIsThere,
} from "./attempt-store.js";
import { startRun, type Run } from "./run.js";

/** Pause before a message comes again that no front has answered for, the first time and at most. */
const RETRY_MS = 5_000;
const LONGEST_RETRY_MS = 120_000;
/** How long a finished clip waits for a front that is away; an answer waits as long as its lease. */
const KEEP_RESULT_MS = 600_000;
/** Pause before a message whose lease was lost comes again: a lease's length. */
const LOST_RETRY_MS = 30_000;
/** How long a failure waits for the pieces of the answer before it to arrive. */
const FLUSH_MS = 2_000;
/** Longest output, as JSON, that a report carries itself. */
const MAX_REPORTED_BYTES = 256 * 1_024;

interface MadeFile {
  readonly variant: string;
  readonly path: string;
  readonly mediaType: string;
}

interface Made {
  readonly output: unknown;
  /** The output as it is reported; null where it went as a file. */
  readonly reported: unknown;
  readonly artifacts: readonly Artifact[];
}

/** One delivery, start to end: claim, run, upload, report; returns what the queue should do. */
export async function executeJob(delivery: Delivery, deps: WorkerDeps): Promise<Settlement> {
  const { id, modality, model, traceparent: parent } = delivery.job;
  const attributes = {
    "framemill.job.id": id,
    "framemill.modality": modality,
    "framemill.model": model,
    "framemill.worker.id": deps.workerId,
  };
  const span = deps.tracer.start("attempt", { parent, attributes });
  const { traceparent } = span;
  const job = traceparent === undefined ? delivery.job : { ...delivery.job, traceparent };
  return await traced(span, async () => await attemptJob({ ...delivery, job }, span, deps));
}

async function attemptJob(delivery: Delivery, span: Span, deps: WorkerDeps): Promise<Settlement> {
  const { job } = delivery;
  const settled = await sendSpooled(delivery, deps);
  if (settled !== undefined) return settled;
  const claiming = claimJob(job, deps);
  return await deps.scratch.use(job.id, async (scratchPath) => {
    const attempt = startAttempt(delivery, deps);
    const run = startRun({ delivery, scratchPath, attempt, deps });
    try {
      const claim = await claiming;
      span.set({ "framemill.claim": claim.outcome });
      if (claim.outcome === "already-done") return { type: "ack" };
      if (claim.outcome === "busy") return { type: "retry", delayMs: claim.retryAfterMs };
      if (claim.outcome === "unanswered") return retryUnanswered(delivery);
      attempt.hold(claim.lease, claim.reportTo);
      const { lease, checkpoint } = claim;
      const isResumed = checkpoint !== null;
      span.set({ "framemill.attempt": lease.attempt, "framemill.resumed": isResumed });
      // Not as the message says: what a front answers is believed, and gets the worker token.
      const stream = deps.streamOf(claim.reportTo);
      const isAwaited = claim.reportTo !== undefined;
      const running = { lease, checkpoint, run, attempt, span, isAwaited, stream, deps };
      return await runLeased(running, job);
    } finally {
      attempt.end();
      await run.end();
    }
  });
}

/** Where an earlier attempt here had finished the job, its report goes before any other work on it. */
async function sendSpooled(
  delivery: Delivery,
  { spool, log }: WorkerDeps,
): Promise<Settlement | undefined> {
  const { job } = delivery;
  try {
    return (await spool.settle(job)) === "ended" ? { type: "ack" } : undefined;
  } catch (thrown) {
    log.warn({ jobId: job.id, reason: toJobError(thrown).message }, "spooled completion not sent");
    return retryUnanswered(delivery);
  }
}

/** Only the ledger knows whether a job may still start; the pauses grow for as long as nobody says. */
function retryUnanswered({ unanswered = 0 }: Delivery): Settlement {
  const delayMs = Math.min(RETRY_MS * 2 ** unanswered, LONGEST_RETRY_MS);
  return { type: "retry", delayMs, unanswered: unanswered + 1 };
}

async function claimJob(
  { id: jobId, traceparent: parent }: Job,
  { workerId, reporter, log, tracer }: WorkerDeps,
): Promise<ClaimResult | { readonly outcome: "unanswered" }> {
  try {
    return await traced(
      tracer.start("claim", { parent }),
      async ({ traceparent }) => await reporter.claim(jobId, workerId, { traceparent }),
    );
  } catch (thrown) {
    log.warn({ jobId, reason: reasonOf(thrown) }, "claim not answered");
    return { outcome: "unanswered" };
  }
}

async function runLeased(running: Running, job: Job): Promise<Settlement> {
  const { lease, attempt, stream, deps } = running;
  const trace = traceFields(job.traceparent);
  const fields = { jobId: job.id, attempt: lease.attempt, ...trace };
  deps.log.info(fields, "job started");
  const saved: Saved = { path: undefined };
  const previews = createPreviews(lease, deps);
  const live = createLivePieces(lease, deps);
  try {
    const modality = getModality(job, deps);
    const whole = { ...job, request: await readRequest(job, modality, running) };
    const made = await make(whole, { ...running, saved, previews, live });
    return await complete(whole, modality, running, made);
  } catch (thrown) {
    const error = attempt.stopReason ?? toJobError(thrown);
    deps.log.warn({ ...fields, code: error.code, reason: reasonOf(error) }, "attempt failed");
    deps.metrics.failed(job, error.code);
    deps.fitness.met(error);
    deps.place?.leave();
    running.span.fail(error.code);
    return await settleFailure(job, { ...running, error, saved, gpuMs: attempt.workedMs() });
  } finally {
    previews.end();
    live.end();
    stream.forget(lease);
  }
}

interface Running {
  readonly lease: Lease;
  /** What an earlier attempt saved. */
  readonly checkpoint: Artifact | null;
  readonly run: Run;
  readonly attempt: Attempt;
  /** Of the attempt. */
  readonly span: Span;
  /** Whether a caller waits for the answer. */
  readonly isAwaited: boolean;
  /** To the front that has the caller, or to the worker's own. */
  readonly stream: ProgressStream;
  readonly deps: WorkerDeps;
}

function getModality(job: Job, { findModality }: WorkerDeps): Modality {
  const modality = findModality(job.modality);
  if (modality !== undefined) return modality;
  throw new JobError("server_error", `unknown modality ${job.modality}`);
}

/** A request of another build's contract fails the attempt: a worker that knows it may come next. */
async function readRequest(
  job: Job,
  { name, schemas }: Modality,
  running: Pick<Running, "attempt" | "deps">,
): Promise<unknown> {
  const { requestFile } = job;
  const request =
    requestFile === undefined
      ? job.request
      : JSON.parse(
          new TextDecoder().decode(
            await whenStoreIsThere(running, (store) => store.readBytes(requestFile.id)),
          ),
        );
  try {
    return schemas.request.parse(request);
  } catch (cause) {
    throw new JobError("server_error", `the request is none of ${name}`, { cause });
  }
}

/** What is seen of an attempt while it runs. */
interface Shown {
  readonly previews: Previews;
  readonly live: LivePieces;
}

/** Reads what the pipeline yields and uploads what it made. */
async function make(job: Job, running: Running & Shown & { readonly saved: Saved }): Promise<Made> {
  const { lease, run, attempt, isAwaited, stream, deps } = running;
  const { token } = lease;
  const files: MadeFile[] = [];
  const stages = deps.metrics.watchStages(job);
  let output: unknown;
  let progress = { jobId: job.id, token, fraction: 0, stage: "starting" };
  const isReported = createProgressFilter();
  // The front learns whom to tell that nobody wants it any more.
  stream.progress(progress);
  await awaitPlace(running, () => stream.progress({ ...progress, stage: WAITING }));
  for await (const event of run.events(job, await readCheckpoint(running))) {
    if (event.type === "progress") {
      progress = { jobId: job.id, token, fraction: event.fraction, stage: event.stage };
      stages.enter(event.stage);
      if (isReported(event.stage)) stream.progress(progress);
    } else if (event.type === "chunk") {
      if (isAwaited) stream.progress({ ...progress, chunks: [event.chunk] });
    } else if (event.type === "file") files.push(event);
    else if (event.type === "preview") running.previews.show(event.bytes);
    // Fronts look for a new piece when they hear of progress.
    else if (event.type === "live") running.live.store(event, () => stream.progress(progress));
    else if (event.type === "checkpoint") running.saved.path = event.path;
    else if (event.type === "waited") attempt.waited(event.ms);
    else output = event.output;
  }
  attempt.signal.throwIfAborted();
  deps.place?.leave();
  stages.enter("uploading");
  const [made] = await Promise.all([
    deliver(job, { output, files }, running),
    running.live.finish(),
  ]);
  stages.end();
  return made;
}

/** Waits for others to leave the place. */
async function awaitPlace(
  { attempt, deps: { place } }: Pick<Running, "attempt" | "deps">,
  onWait: () => void,
): Promise<void> {
  if (place?.freed === undefined) return;
  onWait();
  const since = performance.now();
  try {
    await orAbort(place.freed, attempt.signal, place.needed);
  } finally {
    attempt.waited(performance.now() - since);
  }
}

/** Between two reports of one stage: each is a statement of the ledger, and news to who waits. */
const PROGRESS_MS = 250;

/** Whether a progress is reported: each new stage is, and what comes some time after the last report. */
function createProgressFilter(): (stage: string) => boolean {
  let last = { stage: "", atMs: Number.NEGATIVE_INFINITY };
  return (stage) => {
    const atMs = performance.now();
    if (stage === last.stage && atMs - last.atMs < PROGRESS_MS) return false;
    last = { stage, atMs };
    return true;
  };
}

/** Uploads the files, and the output where it is long. */
async function deliver(
  job: Job,
  { output, files }: { readonly output: unknown; readonly files: readonly MadeFile[] },
  running: Running,
): Promise<Made> {
  if (output === undefined)
    throw new JobError("invalid_output", "the pipeline ended without an output");
  const long = await spillOutput(output, running.run.scratchPath);
  const made = long === undefined ? files : [...files, long];
  const artifacts = made.length === 0 ? [] : await upload(job, made, running);
  return { output, reported: long === undefined ? output : null, artifacts };
}

/** Every file of media is marked before it leaves the worker. */
async function upload(
  job: Job,
  made: readonly MadeFile[],
  running: Running,
): Promise<readonly Artifact[]> {
  const { id: jobId, traceparent: parent } = job;
  const { lease, attempt, deps } = running;
  const isEdit = deps.findModality(job.modality)?.isEdit?.(job.request) ?? false;
  const { provenance } = deps.models.find(({ id }) => id === job.model) ?? {};
  const model = { id: job.model, ...provenance };
  const origin = { jobId, source: isEdit ? "edited" : "generated", model } as const;
  return await traced(deps.tracer.start("upload", { parent }), async (span) => {
    const artifacts = await Promise.all(
      made.map(async ({ variant, path, mediaType }) => {
        await deps.marker?.mark(path, mediaType, origin);
        const id = `${attemptFolder(jobId, lease.attempt)}${variant}.${extensionOf(path)}`;
        const put = { id, variant, mediaType };
        return await whenStoreIsThere(running, (store) => store.putFile(put, path, attempt.signal));
      }),
    );
    const byteLength = artifacts.reduce((sum, artifact) => sum + artifact.byteLength, 0);
    span.set({ "framemill.files": artifacts.length, "framemill.bytes": byteLength });
    return artifacts;
  });
}

/** An output too long for a report goes as a file. */
async function spillOutput(output: unknown, scratchPath: string): Promise<MadeFile | undefined> {
  const text = JSON.stringify(output);
  if (Buffer.byteLength(text) <= MAX_REPORTED_BYTES) return undefined;
  await mkdir(scratchPath, { recursive: true, mode: 0o700 });
  const path = join(scratchPath, "output.json");
  await writeFile(path, text);
  return { variant: "output", path, mediaType: "application/json" };
}

async function complete(
  job: Job,
  modality: Modality,
  { lease, attempt, isAwaited, stream, deps }: Running,
  { output, reported, artifacts }: Made,
): Promise<Settlement> {
  const gpuMs = Math.round(attempt.workedMs());
  const units = modality.countUnits(job.request, output);
  const { jobId, token, prices } = lease;
  const amountMicroUsd = priceOf(prices, units);
  const usage = { ...units, gpuMs };
  const cost = { prices, amountMicroUsd };
  const onUnanswered = (reason: string) =>
    deps.log.warn({ jobId, reason }, "completion not answered");
  const span = deps.tracer.start("complete", { parent: job.traceparent });
  const { traceparent } = span;
  const report = { jobId, token, traceparent, usage, cost, artifacts, output: reported };
  // What is to be read later must not be made again.
  const forget = isAwaited ? undefined : await keepReport(report, deps);
  const worthwhile = isAwaited ? AbortSignal.any([deps.preempted, attempt.signal]) : deps.preempted;
  const completing = traced(span, async () => {
    // Whatever the ledger says ends the answer, on whichever front: nothing of it may come later.
    if (!(await stream.flush(lease, worthwhile))) throw toJobError(worthwhile.reason);
    return await untilAnswered(() => deps.reporter.complete(report), worthwhile, onUnanswered);
  });
  const { outcome } = await completing.catch(async (thrown: unknown) => {
    if (deps.preempted.aborted) throw new JobError("preempted", "the worker is leaving");
    if (toJobError(thrown).httpStatus < 500) await forget?.();
    throw asWorkerFault(thrown);
  });
  await forget?.();
  if (outcome === "stale") throw new JobError("lease_lost", "another attempt holds the job");
  deps.metrics.completed(job, { gpuMs, units });
  deps.fitness.succeeded();
  const trace = traceFields(job.traceparent);
  deps.log.info(
    { jobId, attempt: lease.attempt, gpuMs, units, amountMicroUsd, ...trace },
    "job ended",
  );
  return { type: "ack" };
}

/** A report that finds no room on the disk is sent all the same; the worker takes no further job. */
async function keepReport(
  report: CompletionReport,
  { spool, fitness, log }: WorkerDeps,
): Promise<(() => Promise<void>) | undefined> {
  try {
    return await spool.keep(report);
  } catch (thrown) {
    log.warn({ jobId: report.jobId, reason: reasonOf(thrown) }, "completion not spooled");
    fitness.met(toJobError(thrown));
    return undefined;
  }
}

/** A report that the front refuses is this side's fault, whatever the refusal says. */
function asWorkerFault(thrown: unknown): JobError {
  const error = toJobError(thrown);
  if (error.httpStatus >= 500) return error;
  return new JobError("server_error", `the front refused the report: ${error.message}`, {
    cause: thrown,
  });
}

/** Finished work is not thrown away because the front is: without one nobody else can claim it. */
function untilAnswered<T>(
  call: () => Promise<T>,
  signal: AbortSignal,
  onUnanswered: (reason: string) => void,
): Promise<T> {
  return pRetry(call, {
    signal,
    retries: Number.MAX_SAFE_INTEGER,
    minTimeout: 200,
    maxTimeout: 5_000,
    maxRetryTime: KEEP_RESULT_MS,
    shouldRetry: ({ error }) => toJobError(error).code === "service_unavailable",
    onFailedAttempt: ({ error }) => onUnanswered(reasonOf(error)),
  });
}

interface FailedAttempt extends Pick<Running, "lease" | "stream" | "deps"> {
  readonly error: JobError;
  readonly saved: Saved;
  readonly gpuMs: number;
}

async function settleFailure({ traceparent }: Job, failed: FailedAttempt): Promise<Settlement> {
  const { lease, error, stream, deps } = failed;
  const { reporter } = deps;
  const gpuMs = Math.round(failed.gpuMs);
  const { jobId, token } = lease;
  // Whoever holds the job now will end it; this message comes again only to see that it did.
  if (error.code === "lease_lost") return { type: "retry", delayMs: LOST_RETRY_MS };
  try {
    if (error.code === "preempted") {
      const checkpoint = await keepCheckpoint(lease, failed.saved, deps);
      await reporter.release({ jobId, token, traceparent, checkpoint, gpuMs });
      // What gave its place away comes again later: the broker counts what is returned.
      return deps.preempted.aborted ? { type: "return" } : { type: "retry", delayMs: RETRY_MS };
    }
    if (error.code !== "cancelled") await stream.flush(lease, AbortSignal.timeout(FLUSH_MS));
    const failure = toFailure(error);
    const retryable = error.disposition === "retry";
    const result = await reporter.fail({ jobId, token, traceparent, failure, retryable, gpuMs });
    if (result.outcome === "retry") return { type: "retry", delayMs: result.retryAfterMs };
    return { type: "ack" };
  } catch {
    // The front is away: the lease will run out there, and the message must come again.
    return { type: "retry", delayMs: RETRY_MS };
  }
}

function extensionOf(path: string): string {
  return path.slice(path.lastIndexOf(".") + 1);
}
