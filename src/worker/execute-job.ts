import pRetry from "p-retry";
import type { Artifact } from "../core/artifact.js";
import { JobError, toJobError } from "../core/errors.js";
import type { Job, Lease } from "../core/job.js";
import type { Reporter } from "../core/reports.js";
import type { Delivery, Settlement } from "../queue/broker.js";
import { startAttempt, type Attempt } from "./attempt.js";
import type { WorkerDeps } from "./worker-deps.js";

/** Pause before a message whose job another worker holds, or whose front is away, comes again. */
const RETRY_MS = 5_000;
/** How long a finished clip waits for a front that is away. */
const KEEP_RESULT_MS = 600_000;
/** Pause before a message whose lease was lost comes again: a lease's length. */
const LOST_RETRY_MS = 30_000;

interface MadeFile {
  readonly variant: string;
  readonly path: string;
  readonly mediaType: string;
}

interface Made {
  readonly output: unknown;
  readonly artifacts: readonly Artifact[];
}

/** One delivery, start to end: claim, run, upload, report; returns what the queue should do. */
export async function executeJob(delivery: Delivery, deps: WorkerDeps): Promise<Settlement> {
  const { job } = delivery;
  const { reporter, workerId, log } = deps;
  const claim = await reporter.claim(job.id, workerId).catch((thrown: unknown) => {
    log.warn({ jobId: job.id, reason: toJobError(thrown).message }, "claim not answered");
    return { outcome: "busy", retryAfterMs: RETRY_MS } as const;
  });
  if (claim.outcome === "already-done") return { type: "ack" };
  if (claim.outcome === "busy") return { type: "retry", delayMs: claim.retryAfterMs };

  const { lease } = claim;
  const attempt = startAttempt({ lease, delivery, deps });
  log.info({ jobId: job.id, attempt: lease.attempt, token: lease.token }, "job started");
  try {
    const made = await make(job, lease, { attempt, deps });
    return await complete(job, lease, { made, attempt, deps });
  } catch (thrown) {
    const error = attempt.stopReason ?? toJobError(thrown);
    log.warn(
      { jobId: job.id, attempt: lease.attempt, code: error.code, reason: error.message },
      "attempt failed",
    );
    return await settleFailure(lease, { error, gpuMs: attempt.elapsedMs(), reporter });
  } finally {
    attempt.end();
  }
}

interface AttemptDeps {
  readonly attempt: Attempt;
  readonly deps: WorkerDeps;
}

/** Runs the pipeline in a scratch folder and uploads what it made. */
function make(job: Job, lease: Lease, { attempt, deps }: AttemptDeps): Promise<Made> {
  const { inference, store, scratch, reporter } = deps;
  return scratch.use(job.id, async (scratchPath) => {
    const files: MadeFile[] = [];
    let output: unknown;
    const readInput = (artifact: Artifact) => store.readBytes(artifact.id);
    for await (const event of inference.run({ job, scratchPath, readInput }, attempt.signal)) {
      if (event.type === "progress") {
        const { fraction, stage } = event;
        reporter.progress({ jobId: job.id, token: lease.token, fraction, stage });
      } else if (event.type === "file") files.push(event);
      else if (event.type === "output") output = event.output;
    }
    if (output === undefined)
      throw new JobError("invalid_output", "the pipeline ended without an output");
    attempt.signal.throwIfAborted();
    const artifacts = await Promise.all(
      files.map(({ variant, path, mediaType }) => {
        const id = `${job.id}/${lease.token}/${variant}.${extensionOf(path)}`;
        return store.putFile({ id, variant, mediaType }, path, attempt.signal);
      }),
    );
    return { output, artifacts };
  });
}

async function complete(
  job: Job,
  lease: Lease,
  { made, attempt, deps }: AttemptDeps & { readonly made: Made },
): Promise<Settlement> {
  const modality = deps.findModality(job.modality);
  if (modality === undefined)
    throw new JobError("server_error", `unknown modality ${job.modality}`);
  const gpuMs = Math.round(attempt.elapsedMs());
  const usage = modality.usage(job.request, made.output, gpuMs);
  const billedUnits = modality.billedUnits(usage);
  const { jobId, token, microUsdPerUnit } = lease;
  const amountMicroUsd = Math.round(billedUnits * microUsdPerUnit);
  const cost = { microUsdPerUnit, billedUnits, amountMicroUsd, gpuMs };
  const report = { jobId, token, usage, cost, ...made };
  const { outcome } = await untilAnswered(() => deps.reporter.complete(report), deps.preempted);
  if (outcome === "stale") throw new JobError("lease_lost", "another attempt holds the job");
  deps.log.info({ jobId, token, gpuMs, billedUnits, amountMicroUsd }, "job ended");
  return { type: "ack" };
}

/** Finished work is not thrown away because the front is: without one nobody else can claim it. */
function untilAnswered<T>(call: () => Promise<T>, signal: AbortSignal): Promise<T> {
  return pRetry(call, {
    signal,
    retries: Number.MAX_SAFE_INTEGER,
    minTimeout: 200,
    maxTimeout: 5_000,
    maxRetryTime: KEEP_RESULT_MS,
    shouldRetry: ({ error }) => toJobError(error).code === "service_unavailable",
  });
}

interface FailedAttempt {
  readonly error: JobError;
  readonly gpuMs: number;
  readonly reporter: Reporter;
}

async function settleFailure(lease: Lease, failed: FailedAttempt): Promise<Settlement> {
  const { error, reporter } = failed;
  const gpuMs = Math.round(failed.gpuMs);
  const { jobId, token } = lease;
  // Whoever holds the job now will end it; this message comes again only to see that it did.
  if (error.code === "lease_lost") return { type: "retry", delayMs: LOST_RETRY_MS };
  try {
    if (error.code === "preempted") {
      await reporter.release({ jobId, token, checkpoint: null, gpuMs });
      return { type: "return" };
    }
    const failure = { code: error.code, message: error.message };
    const retryable = error.disposition === "retry";
    const result = await reporter.fail({ jobId, token, failure, retryable, gpuMs });
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
