import type { PipelineEvent } from "../../core/events.js";
import type { Artifact } from "../../core/artifact.js";
import type { Job } from "../../core/job.js";

export interface InferenceJob {
  readonly job: Job;
  /** Folder of this attempt, made by who first writes to it and removed by the caller. */
  readonly scratchPath: string;
  readonly readInput: (artifact: Artifact) => Promise<Uint8Array>;
  /** Aborts when the worker must leave: the pipeline may save a checkpoint and end with `preempted`. */
  readonly preempted?: AbortSignal;
  /** What an earlier attempt saved. */
  readonly checkpoint?: Uint8Array;
}

/** Runs jobs where inference lives. */
export interface InferenceHost {
  /** Resolves when every model is loaded; rejects with the sentence that says why not. */
  ready(): Promise<void>;
  /**
   * Streams the job's events. Ends in `JobError`: `inference_crashed` when the process died,
   * `inference_stalled` when it was silent too long, `cancelled` when `signal` aborted.
   */
  run(task: InferenceJob, signal: AbortSignal): AsyncIterable<PipelineEvent>;
  /** Process id of the inference process, while there is one. */
  readonly processId: number | undefined;
  /** Name of the GPU or processor it computes on; empty until it is ready. */
  readonly device: string;
  /** Resident bytes of the inference process; 0 where the system does not say. */
  memoryBytes(): Promise<number>;
  /** Execution providers of the loaded models, e.g. `cuda`, `cpu`; absent until they are loaded. */
  readonly providers?: readonly string[] | undefined;
  /** Bytes that the caller and the inference process may hold together. */
  readonly allowanceBytes?: number;
  close(): Promise<void>;
}
