import type { Lease } from "../core/job.js";
import type { Reporter } from "../core/reports.js";
import { JobError } from "../core/errors.js";
import type { Directives } from "./directives.js";

const HEARTBEAT_MS = 5_000;
/** The worker stops this long before its lease ends: another may start the moment it does. */
const SAFETY_MS = 5_000;
/** Heartbeats in succession without a connection to the caller's front, after which the caller has gone. */
const ABSENT_BEATS = 3;

export interface LeaseKeeperOptions {
  readonly lease: Lease;
  readonly reporter: Reporter;
  readonly workerId: string;
  readonly directives: Directives;
  /** Called when the lease ran out because the front was away. */
  readonly onExpired: (reason: JobError) => void;
  /** Called when the front asks the worker to finish and take no more. */
  readonly onDrain: () => void;
  /** Whether the front that has the job's caller can be reached; absent where nobody waits. */
  readonly hasCaller?: (() => boolean) | undefined;
  /** Called when it could not for some time: nobody is there for the answer. */
  readonly onCallerLost: () => void;
}

/** Heartbeats until stopped. A front that is away is forgiven until the lease is nearly over. */
export function keepLease(options: LeaseKeeperOptions): { stop(): void } {
  const { lease, onExpired } = options;
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
    absent = options.hasCaller?.() === false ? absent + 1 : 0;
    if (absent === ABSENT_BEATS) options.onCallerLost();
    const leaseMs = await sendHeartbeat(options);
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
async function sendHeartbeat(options: LeaseKeeperOptions): Promise<number | "lost" | "unknown"> {
  const { lease, reporter, workerId, directives, onDrain } = options;
  const result = await reporter.heartbeat(lease, workerId).catch(() => null);
  if (result === null) return "unknown";
  if (result.outcome === "stale" || result.cancel) {
    // Of a job that was cancelled the attempt is still to be told; of one that another has, it is not.
    directives.deliver(lease, result.cancel ? "cancel" : "stale");
    return "lost";
  }
  if (result.drain) onDrain();
  return result.leaseMs;
}
