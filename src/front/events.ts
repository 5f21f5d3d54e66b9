import { serverSentEvent } from "../core/answer.js";
import { isEndState } from "../core/job.js";
import type { Changes } from "./changes.js";
import type { JobRecord } from "./job-record.js";
import { POLL_MS } from "./wait.js";

/** Longest silence of a stream of events, in milliseconds: proxies close what says nothing. */
export const KEEP_ALIVE_MS = 15_000;
/** Says that the stream lives, and nothing else. */
export const KEEP_ALIVE = ": keep-alive\n\n";

export interface EventsOptions {
  readonly jobId: string;
  readonly signal: AbortSignal;
  /** Monotonic milliseconds. */
  readonly now: () => number;
  /** Undefined when the job was deleted. */
  readonly read: () => Promise<JobRecord | undefined>;
  readonly render: (record: JobRecord) => unknown;
}

/** Server-sent events: the object now, at each change, and at its end. */
export async function* jobEvents(changes: Changes, options: EventsOptions): AsyncGenerator<string> {
  const { jobId, signal, now, read, render } = options;
  const watch = changes.watch(jobId);
  let shown = "";
  let sentAtMs = now();
  try {
    while (!signal.aborted) {
      const record = await read();
      if (record === undefined) return;
      const state = stateOf(record);
      if (state !== shown) {
        shown = state;
        sentAtMs = now();
        yield serverSentEvent(render(record));
      } else if (now() - sentAtMs >= KEEP_ALIVE_MS) {
        sentAtMs = now();
        yield KEEP_ALIVE;
      }
      if (isEndState(record.state)) return;
      await watch.next(POLL_MS, signal);
    }
  } finally {
    watch.close();
  }
}

/** What counts as a change; an estimate that drifts does not. */
function stateOf({ state, progress, stage, jobs_ahead: ahead }: JobRecord): string {
  return [state, progress, stage, ahead].join(" ");
}
