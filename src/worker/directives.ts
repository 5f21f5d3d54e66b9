import { JobError } from "../core/errors.js";
import { leaseKey, type LeaseRef } from "../core/reports.js";

type Stop = (reason: JobError) => void;

/** Word from the front to stop an attempt, from the report stream or a heartbeat, to that attempt. */
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
