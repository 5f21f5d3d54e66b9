import { setTimeout as sleep } from "node:timers/promises";
import pRetry from "p-retry";
import { orAbort } from "../core/async/deadline.js";
import { JobError, toJobError } from "../core/errors.js";
import {
  leaseKey,
  type LeaseRef,
  type ProgressReport,
  type ProgressStream,
  type Reporter,
} from "../core/reports.js";
import type { ProgressResult } from "./messages.js";
import type { Directive } from "./report-stream.js";

/** A worker's way to a front, and that of the pieces of its answers. */
export type FrontReporter = Reporter & ProgressStream;

export interface LocalReporterOptions {
  readonly handlers: Omit<Reporter, "close">;
  /** Takes a report. `service_unavailable`: send it again. */
  readonly take: (report: ProgressReport) => Promise<ProgressResult>;
  /** The attempt has ended: no directive is sent to it any more. */
  readonly forget: (lease: LeaseRef) => void;
  readonly onDirective: (lease: LeaseRef, directive: Directive) => void;
}

/** How long a call is tried while the database is away, and a report between two tries. */
const RETRY_MS = 10_000;
const PAUSE_MS = 200;

/** The way to a front in the same process: the calls of the contract without a wire between. */
export function createLocalReporter(options: LocalReporterOptions): FrontReporter {
  const { handlers, forget } = options;
  const closed = new AbortController();
  const reports = createReports(options, closed.signal);
  const call = <Answer>(work: () => Promise<Answer>): Promise<Answer> =>
    untilAvailable(work, closed.signal);
  const ending = <Report extends LeaseRef, Answer>(end: (report: Report) => Promise<Answer>) => {
    return async (report: Report): Promise<Answer> => {
      forget(report);
      return await call(() => end(report));
    };
  };
  return {
    ...reports,
    connected: true,
    claim: async (jobId, workerId) => await call(() => handlers.claim(jobId, workerId)),
    heartbeat: async (lease, workerId) => await call(() => handlers.heartbeat(lease, workerId)),
    announce: async (status) => await call(() => handlers.announce(status)),
    complete: ending((report) => handlers.complete(report)),
    fail: ending((report) => handlers.fail(report)),
    release: ending((report) => handlers.release(report)),
    async close() {
      closed.abort(new JobError("service_unavailable", "the reporter is closed"));
    },
  };
}

/** All calls may be repeated, so all are, while the database is away. */
function untilAvailable<Answer>(work: () => Promise<Answer>, signal: AbortSignal): Promise<Answer> {
  return pRetry(work, {
    retries: Number.POSITIVE_INFINITY,
    minTimeout: PAUSE_MS,
    factor: 1,
    maxRetryTime: RETRY_MS,
    signal,
    shouldRetry: ({ error }) => toJobError(error).code === "service_unavailable",
  });
}

/** Reports of one attempt are taken one after the other. */
function createReports(
  { take, onDirective }: LocalReporterOptions,
  closed: AbortSignal,
): Pick<ProgressStream, "progress" | "flush" | "forget"> {
  /** The last report of each attempt. */
  const last = new Map<string, Promise<void>>();
  const send = async (key: string, report: ProgressReport): Promise<void> => {
    while (last.has(key) && !closed.aborted) {
      try {
        const { outcome, cancel } = await take(report);
        if (cancel) onDirective(report, "cancel");
        else if (outcome === "stale") onDirective(report, "stale");
        return;
      } catch {
        await sleep(PAUSE_MS, undefined, { signal: closed }).catch(() => {});
      }
    }
  };
  return {
    progress(report) {
      const key = leaseKey(report);
      const before = last.get(key) ?? Promise.resolve();
      last.set(
        key,
        before.then(() => send(key, report)),
      );
    },
    async flush(lease, signal) {
      const sending = last.get(leaseKey(lease));
      if (sending === undefined) return true;
      return await orAbort(sending, signal).then(
        () => true,
        () => false,
      );
    },
    forget: (lease) => void last.delete(leaseKey(lease)),
  };
}
