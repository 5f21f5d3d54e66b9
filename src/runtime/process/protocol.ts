import type { Artifact } from "../../core/artifact.js";
import type { PipelineEvent } from "../../core/events.js";
import type { Job, JobFailure } from "../../core/job.js";
import type { GraphPlacement, ProviderOptions } from "../../core/modality.js";
import type { TraceSettings } from "../../core/tracing.js";

/** Where the graphs of a model ran while it made its example. */
export interface ModelPlacement {
  readonly model: string;
  readonly graphs: readonly GraphPlacement[];
}

/** Every message between the worker and its inference process. Nothing else crosses. */

/** What the inference process loads when it starts. */
export interface InferenceSetup {
  /** Folders of the model packages it serves. */
  readonly modelPaths: readonly string[];
  readonly threads: number;
  /** Jobs that the device runs at once, over all models that take one at a time; 1 by default. */
  readonly slots?: number;
  /** Execution providers for every model, or `auto`; what each package says by default. */
  readonly providers?: readonly string[] | undefined;
  /** Provider → its options, over each package's own. */
  readonly providerOptions?: ProviderOptions | undefined;
  /** Number of the GPU that it computes on, for CUDA and TensorRT; the first by default. */
  readonly device?: number;
  /** Largest share of a graph's nodes that the CPU may run for another provider; 1 by default. */
  readonly maxHostShare?: number;
  /** Most bytes of prompts that each chat model remembers; none by default. */
  readonly promptCacheBytes?: number | undefined;
  /** Whether clips can be played while they are made; not by default. */
  readonly isLive?: boolean | undefined;
  readonly ffmpegPath: string;
  readonly ffprobePath: string;
  readonly espeakPath: string;
  /** Bytes that loaded models may hold together; no bound by default. */
  readonly modelMemoryBytes?: number;
  /** Which models make their example before the process is ready; `auto` by default: those off the CPU. */
  readonly warmUp?: "auto" | "always" | "never";
  /** Milliseconds without work after which a model is unloaded, and the process without models ends; 0 = never, the default. */
  readonly modelIdleMs?: number;
  /** Folder of optimised graphs and of notes on checked files; none by default. */
  readonly cacheDir?: string | undefined;
  /** Where spans go; nowhere by default. */
  readonly traces?: TraceSettings;
}

/**
 * Models that are loaded before a process is ready: those that fit into its memory, `proven` if each makes
 * its modality's example; or each when it is used.
 */
export type Opens = "at-start" | "proven" | "on-use";

/** How an inference process waits for the next worker. */
export interface Standing {
  /** Folder of its socket. */
  readonly folder: string;
  /** What the next worker must agree in. */
  readonly key: string;
  /** How long it waits, in milliseconds. */
  readonly waitMs: number;
}

/** Worker → inference process. A worker that goes without `leave` leaves the process to the next. */
export type InferenceRequest =
  | {
      readonly type: "setup";
      readonly setup: InferenceSetup;
      readonly opens: Opens;
      /** Ends with its worker where absent. */
      readonly standing?: Standing;
    }
  /** The first message of a worker that did not start it. */
  | { readonly type: "adopt"; readonly key: string; readonly processId: number }
  | { readonly type: "leave" }
  | {
      readonly type: "job-start";
      readonly job: Job;
      readonly scratchPath: string;
      readonly checkpoint?: Uint8Array;
    }
  | { readonly type: "job-preempt"; readonly jobId: string }
  | { readonly type: "job-cancel"; readonly jobId: string }
  | { readonly type: "input-ready"; readonly artifactId: string; readonly bytes: Uint8Array }
  | { readonly type: "input-failed"; readonly artifactId: string; readonly failure: JobFailure };

interface Ready {
  readonly type: "ready";
  readonly loadMs: number;
  readonly providers: readonly string[];
  /** Name of what they compute on. */
  readonly device: string;
  /** Why those providers, where they were chosen by their times; else empty. */
  readonly choice: string;
  /** Of the models that made their example on another provider than the CPU. */
  readonly placements: readonly ModelPlacement[];
}

/** What a process is when the next worker gets it. */
export interface Adopted {
  readonly type: "adopted";
  readonly processId: number;
  readonly ready: Ready;
  readonly opens: Opens;
  /** Models in its memory. */
  readonly loaded: readonly string[];
}

/** Inference process → worker, several in a message. `jobId` tells a late message of an abandoned job, to be dropped. */
export type InferenceReply =
  | Ready
  | Adopted
  /** Not this worker's: it has one, or is of another key and ends. */
  | { readonly type: "refused"; readonly isOther: boolean }
  | { readonly type: "setup-failed"; readonly message: string }
  | {
      readonly type: "model-loaded";
      readonly model: string;
      readonly loadMs: number;
      /** Resident bytes of the whole process. */
      readonly processBytes: number;
    }
  | { readonly type: "model-unloaded"; readonly model: string; readonly processBytes: number }
  /** No model is loaded any more. */
  | { readonly type: "idle" }
  | { readonly type: "input-wanted"; readonly jobId: string; readonly artifact: Artifact }
  | { readonly type: "event"; readonly jobId: string; readonly event: PipelineEvent }
  | { readonly type: "job-end"; readonly jobId: string }
  | { readonly type: "job-error"; readonly jobId: string; readonly failure: JobFailure };

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
  /** Resolves once every model could be loaded; rejects with the sentence that says why not. */
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
  /** Numbers of its GPUs, where the operator named any. */
  readonly devices?: readonly number[];
  /** Processes that were found loaded and taken over. */
  readonly adoptions?: number;
  /** Models that are in memory now. */
  readonly loadedModels?: readonly string[];
  /** Resident bytes of the inference process; 0 where the system does not say. */
  memoryBytes(): Promise<number>;
  /** Execution providers of the loaded models, e.g. `cuda`, `cpu`; absent until they are loaded. */
  readonly providers?: readonly string[] | undefined;
  /** Once it is ready: of the models that made their example on another provider than the CPU. */
  readonly placements?: readonly ModelPlacement[] | undefined;
  /** Bytes that the caller and the inference process may hold together. */
  readonly allowanceBytes?: number;
  close(): Promise<void>;
}
