import { serverSentEvent } from "../../core/answer.js";
import { isEndState } from "../../core/job.js";
import type { Changes, JobRecord } from "../ledger/index.js";
import { untilPoll } from "./wait.js";
import type { LookAtJob, WatchedJob } from "./watched-jobs.js";

/** Longest silence of a stream of events, in milliseconds: proxies close what says nothing. */
export const KEEP_ALIVE_MS = 15_000;
/** Says that the stream lives, and nothing else. */
export const KEEP_ALIVE = ": keep-alive\n\n";

export interface EventsOptions {
  readonly jobId: string;
  readonly signal: AbortSignal;
  /** Monotonic milliseconds. */
  readonly now: () => number;
  readonly look: LookAtJob;
  /** Undefined when the job was deleted. */
  readonly read: () => Promise<JobRecord | undefined>;
  readonly render: (record: JobRecord) => unknown;
}

/** Server-sent events: the object now, at each change, and at its end. */
export async function* jobEvents(changes: Changes, options: EventsOptions): AsyncGenerator<string> {
  const { jobId, signal, now, look, read, render } = options;
  const watch = changes.watch(jobId);
  let shown = "";
  let sentAtMs = now();
  try {
    while (!signal.aborted) {
      const job = await look(jobId);
      if (job === undefined) return;
      if (stateOf(job) !== shown) {
        const record = await read();
        if (record === undefined) return;
        shown = stateOf(record);
        sentAtMs = now();
        yield serverSentEvent(render(record));
        if (isEndState(record.state)) return;
      } else if (now() - sentAtMs >= KEEP_ALIVE_MS) {
        sentAtMs = now();
        yield KEEP_ALIVE;
      }
      await watch.next(untilPoll(now()), signal);
    }
  } finally {
    watch.close();
  }
}

/** What counts as a change; an estimate that drifts does not. */
function stateOf({ state, progress, stage, jobs_ahead: ahead }: WatchedJob): string {
  return [state, progress, stage, ahead].join(" ");
}
