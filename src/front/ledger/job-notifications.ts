import type { Database } from "./database/database.js";

/** Tells when a job may have changed, on whichever replica it did. */
export interface JobNotifications {
  readonly watch: (jobId: string) => Watch;
  /** Calls back whenever a job may have changed. */
  readonly follow: (onChange: () => void) => void;
  readonly close: () => Promise<void>;
}

export interface Watch {
  /** Resolves at the next change (or at once when one was missed), after the timeout, or when aborted. */
  readonly next: (timeoutMs: number, signal: AbortSignal) => Promise<void>;
  readonly close: () => void;
}

/** A `NOTIFY` on it carries the id of a job that changed. */
const JOBS_CHANNEL = "framemill_jobs";

type Listener = () => void;

export async function createJobNotifications(database: Database): Promise<JobNotifications> {
  const listeners = new Map<string, Set<Listener>>();
  const followers: Listener[] = [];
  const stop = await database.listen(JOBS_CHANNEL, (jobId) => {
    for (const follower of followers) follower();
    for (const listener of listeners.get(jobId) ?? []) listener();
  });
  return {
    follow: (onChange) => void followers.push(onChange),
    watch(jobId) {
      const watch = createWatch();
      const siblings = listeners.get(jobId) ?? new Set();
      listeners.set(jobId, siblings.add(watch.notice));
      return {
        next: watch.next,
        close() {
          siblings.delete(watch.notice);
          if (siblings.size === 0) listeners.delete(jobId);
        },
      };
    },
    close: stop,
  };
}

/** Remembers a change that comes between two waits. */
function createWatch(): Pick<Watch, "next"> & { readonly notice: Listener } {
  let missed = false;
  let wake: Listener | undefined;
  return {
    notice() {
      missed = true;
      wake?.();
    },
    async next(timeoutMs, signal) {
      if (!missed && !signal.aborted) {
        await new Promise<void>((resolve) => {
          const done = (): void => {
            clearTimeout(timer);
            signal.removeEventListener("abort", done);
            wake = undefined;
            resolve();
          };
          const timer = setTimeout(done, timeoutMs);
          signal.addEventListener("abort", done, { once: true });
          wake = done;
        });
      }
      missed = false;
    },
  };
}
