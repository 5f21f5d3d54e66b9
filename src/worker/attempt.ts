import { JobError } from "../core/errors.js";
import type { Lease } from "../core/job.js";
import type { Modality, ModelInfo } from "../core/modality.js";
import { leaseKey, type LeaseRef, type ProgressStream, type Reporter } from "../core/reports.js";
import type { Tracer } from "../core/tracing.js";
import type { Marker } from "../provenance/index.js";
import type { Delivery } from "../queue/index.js";
import type { InferenceHost } from "../runtime/process/protocol.js";
import type { ArtifactStore } from "../storage/index.js";
import type { Fitness } from "./fitness.js";
import type { Log } from "./log.js";
import type { Place } from "./places.js";
import type { WorkerMetrics } from "./metrics.js";
import type { Scratch } from "./scratch.js";
import type { Spool } from "./spool.js";

/** What one job needs of its worker. */
export interface WorkerDeps {
  readonly workerId: string;
  /** Any front over the ledger. */
  readonly reporter: Reporter;
  /** The front that has the job's caller, as the claim named it; any, where nobody waits on the line. */
  readonly streamOf: (reportTo: string | undefined) => ProgressStream;
  readonly directives: Directives;
  readonly inference: InferenceHost;
  readonly store: ArtifactStore;
  readonly scratch: Scratch;
  readonly spool: Spool;
  readonly fitness: Pick<Fitness, "met" | "succeeded">;
  readonly findModality: (name: string) => Modality | undefined;
  readonly models: readonly ModelInfo[];
  /** Marks finished media; without it they leave as they were made. */
  readonly marker?: Marker | undefined;
  readonly jobTimeoutMs: number;
  /** Called when the front asks this worker to finish its jobs and take no more. */
  readonly onDrain: () => void;
  /** Aborts when the process must leave: the job goes back without blame. */
  readonly preempted: AbortSignal;
  /** Of a polled job that shares the worker's slots. */
  readonly place?: Place | undefined;
  readonly metrics: Pick<WorkerMetrics, "watchStages" | "completed" | "failed" | "callerLost">;
  readonly tracer: Tracer;
  readonly log: Log;
}

/** What a pipeline has to save where it is, once the worker must leave, in milliseconds. */
const HAND_OVER_MS = 2_500;

/** Why an attempt's signal aborts that nothing stopped: made once, for every job would make one. */
const ENDED = new Error("the attempt has ended");

/** One attempt's life: everything that may stop it ends in one signal with one reason. */
export interface Attempt {
  readonly signal: AbortSignal;
  /** Why the signal aborted. */
  readonly stopReason: JobError | undefined;
  /** Time since it started, less what its job waited for another. */
  workedMs(): number;
  waited(ms: number): void;
  /**
   * It waits for what failed so; the returned function ends that. The time does not count as work, and
   * where it runs out meanwhile, that is why the attempt ends.
   */
  waitFor(fault: JobError): () => void;
  /** Keeps the lease from now on, and stops when the front says so. */
  hold(lease: Lease, reportTo: string | undefined): void;
  /** Aborts what still runs. */
  end(): void;
}

export function startAttempt(delivery: Delivery, deps: WorkerDeps): Attempt {
  const startedAt = performance.now();
  const abort = new AbortController();
  let waitedMs = 0;
  let stopReason: JobError | undefined;
  const stop = (reason: JobError) => {
    stopReason ??= reason;
    abort.abort(stopReason);
  };
  const { directives, preempted, jobTimeoutMs } = deps;
  const { job } = delivery;
  let release = () => {};
  const waits = new Set<JobError>();
  let waitsSince = 0;
  const overdue = () => {
    const [fault] = waits;
    stop(fault ?? new JobError("deadline_exceeded", `the job ran longer than ${jobTimeoutMs} ms`));
  };
  const timer = setTimeout(overdue, jobTimeoutMs);
  let handingOver: NodeJS.Timeout | undefined;
  const onPreempted = () => {
    const preempt = () => stop(new JobError("preempted", "the worker is leaving"));
    handingOver = setTimeout(preempt, HAND_OVER_MS);
  };
  const onChannelLost = () => stop(new JobError("lease_lost", "the queue's channel was lost"));
  preempted.addEventListener("abort", onPreempted, { once: true });
  delivery.signal.addEventListener("abort", onChannelLost, { once: true });
  return {
    signal: abort.signal,
    get stopReason() {
      return stopReason;
    },
    workedMs: () => Math.max(0, performance.now() - startedAt - waitedMs),
    waited: (ms) => void (waitedMs += ms),
    waitFor(fault) {
      if (waits.size === 0) waitsSince = performance.now();
      waits.add(fault);
      return () => {
        if (waits.delete(fault) && waits.size === 0) waitedMs += performance.now() - waitsSince;
      };
    },
    hold(lease, reportTo) {
      const isCallerAway = () => reportTo !== undefined && !deps.streamOf(reportTo).connected;
      const onCallerLost = () => {
        deps.metrics.callerLost(job);
        stop(new JobError("cancelled", `no connection to ${reportTo}, which has the caller`));
      };
      const keeper = keepLease(lease, deps, { isCallerAway, onCallerLost, onExpired: stop });
      const endListening = directives.listen(lease, stop);
      release = () => {
        keeper.stop();
        endListening();
      };
    },
    end() {
      release();
      clearTimeout(timer);
      clearTimeout(handingOver);
      preempted.removeEventListener("abort", onPreempted);
      delivery.signal.removeEventListener("abort", onChannelLost);
      abort.abort(stopReason ?? ENDED);
    },
  };
}

const HEARTBEAT_MS = 5_000;
/** The worker stops this long before its lease ends: another may start the moment it does. */
const SAFETY_MS = 5_000;
/** Heartbeats in succession without a connection to the caller's front, after which the caller has gone. */
const ABSENT_BEATS = 3;

interface LeaseEvents {
  /** Called when the lease ran out because the front was away. */
  readonly onExpired: (reason: JobError) => void;
  /** Whether the front that has the job's caller cannot be reached. */
  readonly isCallerAway: () => boolean;
  /** Called when it could not for some time: nobody is there for the answer. */
  readonly onCallerLost: () => void;
}

/** Heartbeats until stopped. A front that is away is forgiven until the lease is nearly over. */
function keepLease(lease: Lease, deps: WorkerDeps, events: LeaseEvents): { stop(): void } {
  const { onExpired, isCallerAway, onCallerLost } = events;
  const expired = () =>
    onExpired(new JobError("lease_lost", "the lease ran out without a heartbeat"));
  const expireIn = (leftMs: number) => setTimeout(expired, leftMs);
  let expiry = expireIn(lease.leaseMs - SAFETY_MS);
  let next: NodeJS.Timeout | undefined;
  let stopped = false;
  let absent = 0;
  const beatLater = () => (next = setTimeout(() => void beat(), HEARTBEAT_MS));
  const stop = () => {
    stopped = true;
    clearTimeout(next);
    clearTimeout(expiry);
  };
  const beat = async () => {
    const sentAt = performance.now();
    absent = isCallerAway() ? absent + 1 : 0;
    if (absent === ABSENT_BEATS) onCallerLost();
    const leaseMs = await sendHeartbeat(lease, deps);
    if (leaseMs === "lost") return stop();
    if (stopped) return;
    if (leaseMs !== "unknown") {
      clearTimeout(expiry);
      expiry = expireIn(sentAt + leaseMs - SAFETY_MS - performance.now());
    }
    beatLater();
  };
  beatLater();
  return { stop };
}

/** How long the lease holds from now, in milliseconds; `unknown` when the front did not answer. */
async function sendHeartbeat(
  lease: Lease,
  { reporter, workerId, directives, onDrain }: WorkerDeps,
): Promise<number | "lost" | "unknown"> {
  const result = await reporter.heartbeat(lease, workerId).catch(() => null);
  if (result === null) return "unknown";
  if (result.outcome === "stale" || result.cancel) {
    // A cancelled attempt is still reported; one whose job another worker holds is not.
    directives.deliver(lease, result.cancel ? "cancel" : "stale");
    return "lost";
  }
  if (result.drain) onDrain();
  return result.leaseMs;
}

type Stop = (reason: JobError) => void;

/** Passes the front's order to stop, from the report stream or a heartbeat, to the attempt it names. */
export interface Directives {
  /** `stale`: the token lost the job. `cancel`: the caller does not want it any more. */
  deliver(lease: LeaseRef, directive: "stale" | "cancel"): void;
  /** Returns the function that ends listening. */
  listen(lease: LeaseRef, stop: Stop): () => void;
}

export function createDirectives(): Directives {
  const listeners = new Map<string, Stop>();
  return {
    deliver(lease, directive) {
      const reason =
        directive === "cancel"
          ? new JobError("cancelled", "the job was cancelled")
          : new JobError("lease_lost", "another attempt holds the job");
      listeners.get(leaseKey(lease))?.(reason);
    },
    listen(lease, stop) {
      listeners.set(leaseKey(lease), stop);
      return () => void listeners.delete(leaseKey(lease));
    },
  };
}
