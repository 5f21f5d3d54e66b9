/** Every message between the worker and its inference process. Nothing else crosses. */
import type { Artifact } from "../../core/artifact.js";
import type { PipelineEvent } from "../../core/events.js";
import type { Job, JobFailure } from "../../core/job.js";
import type { TraceSettings } from "../../core/tracing.js";

/** What the inference process loads when it starts. */
export interface InferenceSetup {
  /** Folders of the model packages it serves. */
  readonly modelPaths: readonly string[];
  readonly threads: number;
  /** Jobs that the device runs at once, over all models that take one at a time; 1 where absent. */
  readonly slots?: number;
  /** Execution providers for every model, or `auto`; what each package says where absent. */
  readonly providers?: readonly string[] | undefined;
  /** Most bytes of prompts that each chat model remembers; none where absent. */
  readonly promptCacheBytes?: number | undefined;
  readonly ffmpegPath: string;
  readonly ffprobePath: string;
  readonly espeakPath: string;
  /** Bytes that loaded models may hold together; no bound where absent. */
  readonly modelMemoryBytes?: number;
  /** Which models make their example before the process is ready; `auto` where absent: those off the CPU. */
  readonly warmUp?: "auto" | "always" | "never";
  /** Folder of optimised graphs and of notes on checked files; none where absent. */
  readonly cacheDir?: string | undefined;
  /** Where spans go; nowhere where absent. */
  readonly traces?: TraceSettings;
}

/** Worker → inference process. */
export type InferenceRequest =
  | {
      readonly type: "setup";
      readonly setup: InferenceSetup;
      /** Whether each model must make its modality's example before the process is ready. */
      readonly proves: boolean;
    }
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

/** Inference process → worker. `jobId` tells a late message of an abandoned job, to be dropped. */
export type InferenceReply =
  | {
      readonly type: "ready";
      readonly loadMs: number;
      readonly providers: readonly string[];
      /** Name of what they compute on. */
      readonly device: string;
    }
  | { readonly type: "setup-failed"; readonly message: string }
  | {
      readonly type: "model-loaded";
      readonly model: string;
      readonly loadMs: number;
      /** Resident bytes of the whole process. */
      readonly processBytes: number;
    }
  | { readonly type: "model-unloaded"; readonly model: string; readonly processBytes: number }
  | { readonly type: "input-wanted"; readonly jobId: string; readonly artifact: Artifact }
  | { readonly type: "event"; readonly jobId: string; readonly event: PipelineEvent }
  | { readonly type: "job-end"; readonly jobId: string }
  | { readonly type: "job-error"; readonly jobId: string; readonly failure: JobFailure };
