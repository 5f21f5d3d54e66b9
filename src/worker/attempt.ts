import { JobError } from "../core/errors.js";
import type { Lease } from "../core/job.js";
import type { Delivery } from "../queue/index.js";
import { keepLease } from "./lease.js";
import type { WorkerDeps } from "./worker-deps.js";

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
  /** Keeps the lease from now on, and hears what the front says of it. */
  hold(lease: Lease, reportTo: string | undefined): void;
  /** Aborts what still runs. */
  end(): void;
}

export interface AttemptOptions {
  readonly delivery: Delivery;
  readonly deps: Pick<
    WorkerDeps,
    | "workerId"
    | "reporter"
    | "streamOf"
    | "directives"
    | "onDrain"
    | "preempted"
    | "jobTimeoutMs"
    | "metrics"
  >;
}

export function startAttempt({ delivery, deps }: AttemptOptions): Attempt {
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
  let leaving: NodeJS.Timeout | undefined;
  const onPreempted = () => {
    const leave = () => stop(new JobError("preempted", "the worker is leaving"));
    leaving = setTimeout(leave, HAND_OVER_MS);
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
      const hasCaller =
        reportTo === undefined ? undefined : () => deps.streamOf(reportTo).connected;
      const onCallerLost = () => {
        deps.metrics.callerLost(job);
        stop(new JobError("cancelled", `no connection to ${reportTo}, which has the caller`));
      };
      const keeper = keepLease({ ...deps, lease, hasCaller, onCallerLost, onExpired: stop });
      const endListening = directives.listen(lease, stop);
      release = () => {
        keeper.stop();
        endListening();
      };
    },
    end() {
      release();
      clearTimeout(timer);
      clearTimeout(leaving);
      preempted.removeEventListener("abort", onPreempted);
      delivery.signal.removeEventListener("abort", onChannelLost);
      abort.abort(stopReason ?? ENDED);
    },
  };
}
