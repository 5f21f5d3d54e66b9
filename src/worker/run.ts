import type { Artifact } from "../core/artifact.js";
import type { PipelineEvent } from "../core/events.js";
import { toJobError } from "../core/errors.js";
import type { Job } from "../core/job.js";
import { isPolled } from "../core/modality.js";
import type { Delivery } from "../queue/index.js";
import type { Attempt, WorkerDeps } from "./attempt.js";
import { whenStoreIsThere } from "./attempt-store.js";

/** The pipeline's work on one delivery. */
export interface Run {
  /** Folder of the attempt. */
  readonly scratchPath: string;
  /** What the pipeline yields for the job, going on from a checkpoint where there is one; read once. */
  events(job: Job, checkpoint?: Uint8Array): AsyncIterable<PipelineEvent>;
  /** Waits, once the attempt has ended, for what nobody read to its end. */
  end(): Promise<void>;
}

export interface RunOptions {
  readonly delivery: Delivery;
  readonly scratchPath: string;
  readonly attempt: Attempt;
  readonly deps: WorkerDeps;
}

/**
 * A replied job that came for the first time begins before its claim is answered, which takes as long
 * as a first token; nothing of it is sent before. Any other begins when its events are asked for.
 */
export function startRun({ delivery, scratchPath, attempt, deps }: RunOptions): Run {
  const { findModality } = deps;
  const begin = (job: Job, checkpoint?: Uint8Array): AsyncIterable<PipelineEvent> =>
    traceEvents({ job, checkpoint, scratchPath, attempt }, deps);
  const { job, redelivered } = delivery;
  const modality = findModality(job.modality);
  if (modality === undefined || isPolled(modality) || redelivered || job.requestFile !== undefined)
    return { scratchPath, events: begin, end: async () => {} };
  const events = begin(job)[Symbol.asyncIterator]();
  const first = events.next();
  // Whoever reads sees the rejection; of a job that another has, nobody reads.
  const over = first.catch(() => {});
  return {
    scratchPath,
    events: () => following(first, events),
    async end() {
      await over;
      await events.return?.();
    },
  };
}

interface Task {
  readonly job: Job;
  readonly checkpoint: Uint8Array | undefined;
  readonly scratchPath: string;
  readonly attempt: Attempt;
}

/** What the inference process yields, in a span from the asking to the last of it. */
async function* traceEvents(
  { job, checkpoint, scratchPath, attempt }: Task,
  deps: WorkerDeps,
): AsyncGenerator<PipelineEvent> {
  const { inference, place, tracer } = deps;
  const preempted = place ? AbortSignal.any([deps.preempted, place.needed]) : deps.preempted;
  const span = tracer.start("run", { parent: job.traceparent });
  const { traceparent } = span;
  const traced = traceparent === undefined ? job : { ...job, traceparent };
  const readInput = ({ id }: Artifact) =>
    whenStoreIsThere({ attempt, deps }, (store) => store.readBytes(id));
  const task = { job: traced, scratchPath, readInput, preempted };
  try {
    yield* inference.run(checkpoint ? { ...task, checkpoint } : task, attempt.signal);
  } catch (thrown) {
    span.fail(toJobError(thrown).code);
    throw thrown;
  } finally {
    span.end();
  }
}

/** A sequence whose first item is already under way. */
async function* following<T>(
  first: Promise<IteratorResult<T>>,
  rest: AsyncIterator<T>,
): AsyncGenerator<T> {
  for (let next = await first; next.done !== true; next = await rest.next()) yield next.value;
}
