import { setTimeout as sleep } from "node:timers/promises";
import type { Lease } from "../core/job.js";
import type { Reporter } from "../core/reports.js";
import { JobError } from "../core/errors.js";
import type { Directives } from "./directives.js";

const HEARTBEAT_MS = 5_000;
/** The worker stops this long before its lease ends: another may start the moment it does. */
const SAFETY_MS = 5_000;

export interface LeaseKeeperOptions {
  readonly lease: Lease;
  readonly reporter: Reporter;
  readonly workerId: string;
  readonly directives: Directives;
  /** Called when the lease ran out because the front was away. */
  readonly onExpired: (reason: JobError) => void;
  /** Called when the front asks the worker to finish and take no more. */
  readonly onDrain: () => void;
}

/** Heartbeats until stopped. A front that is away is forgiven until the lease is nearly over. */
export function keepLease(options: LeaseKeeperOptions): { stop(): void } {
  const stopped = new AbortController();
  void beat(options, stopped.signal);
  return { stop: () => stopped.abort() };
}

async function beat(options: LeaseKeeperOptions, signal: AbortSignal): Promise<void> {
  const { lease, reporter, workerId, directives, onExpired, onDrain } = options;
  let validUntil = performance.now() + lease.leaseMs - SAFETY_MS;
  const expired = () =>
    onExpired(new JobError("lease_lost", "the lease ran out without a heartbeat"));
  let timer = setTimeout(expired, validUntil - performance.now());
  try {
    while (!signal.aborted) {
      await sleep(HEARTBEAT_MS, undefined, { signal });
      const sentAt = performance.now();
      const result = await reporter.heartbeat(lease, workerId).catch(() => null);
      if (result === null) continue;
      if (result.outcome === "stale") return directives.deliver(lease, "stale");
      if (result.cancel) return directives.deliver(lease, "cancel");
      if (result.drain) onDrain();
      validUntil = sentAt + result.leaseMs - SAFETY_MS;
      clearTimeout(timer);
      timer = setTimeout(expired, validUntil - performance.now());
    }
  } catch {
    // The sleep was aborted: the attempt has ended.
  } finally {
    clearTimeout(timer);
  }
}
