import type { Modality } from "../core/modality.js";
import type { ProgressStream, Reporter } from "../core/reports.js";
import type { Tracer } from "../core/tracing.js";
import type { InferenceHost } from "../runtime/process/host.js";
import type { ArtifactStore } from "../storage/index.js";
import type { Directives } from "./directives.js";
import type { Fitness } from "./fitness.js";
import type { Log } from "./log.js";
import type { WorkerMetrics } from "./metrics.js";
import type { Scratch } from "./scratch.js";
import type { Spool } from "./spool.js";

/** What one job needs of its worker. */
export interface WorkerDeps {
  readonly workerId: string;
  /** Any front over the ledger. */
  readonly reporter: Reporter;
  /** The front that has the job's caller, as the claim named it; any, where nobody waits on the line. */
  readonly streamOf: (reportTo: string | undefined) => ProgressStream;
  readonly directives: Directives;
  readonly inference: InferenceHost;
  readonly store: ArtifactStore;
  readonly scratch: Scratch;
  readonly spool: Spool;
  readonly fitness: Pick<Fitness, "met" | "succeeded">;
  readonly findModality: (name: string) => Modality | undefined;
  readonly jobTimeoutMs: number;
  /** Called when the front asks this worker to finish its jobs and take no more. */
  readonly onDrain: () => void;
  /** Aborts when the process must leave: the job goes back without blame. */
  readonly preempted: AbortSignal;
  readonly metrics: Pick<WorkerMetrics, "watchStages" | "completed" | "failed" | "callerLost">;
  readonly tracer: Tracer;
  readonly log: Log;
}
