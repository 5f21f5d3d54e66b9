import { JobError } from "../../core/errors.js";

/** Bounds the event streams and waits that one project has open at this front. */
export interface WatchLimit {
  /** Counts one until `signal` aborts. Throws `rate_limit_exceeded` where there are too many. */
  take(projectId: string, signal: AbortSignal): void;
}

export function createWatchLimit(most: number): WatchLimit {
  const open = new Map<string, number>();
  return {
    take(projectId, signal) {
      const count = open.get(projectId) ?? 0;
      if (count >= most) {
        const message = `At most ${most} event streams and waits of a project may be open at once.`;
        throw new JobError("rate_limit_exceeded", message);
      }
      if (signal.aborted) return;
      open.set(projectId, count + 1);
      const release = () => {
        const left = (open.get(projectId) ?? 1) - 1;
        if (left > 0) open.set(projectId, left);
        else open.delete(projectId);
      };
      signal.addEventListener("abort", release, { once: true });
    },
  };
}
