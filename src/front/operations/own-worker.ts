import type { WorkerStatus } from "../../core/reports.js";
import type { ReportHandlers } from "../jobs/index.js";

/** Three announcements missed, in milliseconds. */
const ABSENT_MS = 15_000;
/** Also of a worker that takes some jobs only while its store is away. */
const SERVING: ReadonlySet<WorkerStatus["state"]> = new Set(["ready", "busy", "unready"]);

/** Listens to the announcements that reach this process, for one that is of no use without a worker. */
export interface WorkerWatch {
  readonly handlers: ReportHandlers;
  /** Why no job would be taken now, if so. */
  findObstacle(): string | undefined;
}

/** `now`: monotonic milliseconds. */
export function watchWorkers(handlers: ReportHandlers, now: () => number): WorkerWatch {
  const seen = new Map<string, { readonly state: WorkerStatus["state"]; readonly atMs: number }>();
  return {
    handlers: {
      ...handlers,
      async announce(status) {
        const orders = await handlers.announce(status);
        seen.set(status.workerId, { state: status.state, atMs: now() });
        return orders;
      },
    },
    findObstacle() {
      const states = [...seen.values()]
        .filter(({ atMs }) => now() - atMs < ABSENT_MS)
        .map(({ state }) => state);
      if (states.some((state) => SERVING.has(state))) return undefined;
      return `worker: ${states.at(-1) ?? "none has reported"}`;
    },
  };
}
