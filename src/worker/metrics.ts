import { Counter, Gauge, Histogram, Registry } from "prom-client";
import type { Job } from "../core/job.js";
import { WORKER_STATES, type WorkerStatus } from "../core/reports.js";
import { createStageWatch, type StageWatch } from "../core/stages.js";
import type { Units } from "../core/usage.js";
import { addProcessMetrics } from "../http/process-metrics.js";
import type { Marker } from "../provenance/index.js";
import { readDeviceMemory } from "../runtime/ort/device-memory.js";
import type { InferenceHost } from "../runtime/process/protocol.js";
import type { Obstacles } from "./fitness.js";

type Kind = Pick<Job, "modality" | "model">;

export interface WorkerMetrics {
  readonly registry: Registry;
  watchStages(kind: Kind): StageWatch;
  /** `work` in milliseconds, and what it made. */
  completed(kind: Kind, work: { readonly gpuMs: number; readonly units: Units }): void;
  /** An attempt ended with this error's code. */
  failed(kind: Kind, code: string): void;
  /** The front that had an attempt's caller could not be reached any more. */
  callerLost(kind: Kind): void;
}

export interface WorkerMetricsOptions {
  readonly state: () => WorkerStatus["state"];
  readonly obstacles: Obstacles;
  /** Jobs in flight. */
  readonly running: () => number;
  /** Completions on disk that no front has taken. */
  readonly spooled: () => number;
  readonly inference: InferenceHost;
  /** What finished media are marked by, if they are. */
  readonly marker?: Pick<Marker, "signer"> | undefined;
}

const SECONDS = [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 1_200];
const RATIOS = [0.05, 0.1, 0.2, 0.3, 0.5, 0.75, 1, 1.5, 2, 3, 5, 10, 20];

/** What one worker counts, by modality and model. */
export function createWorkerMetrics(options: WorkerMetricsOptions): WorkerMetrics {
  const registry = new Registry();
  const registers = [registry];
  addProcessMetrics(registry);
  addProcessGauges(registry, options);
  const labelNames = ["modality", "model"] as const;
  const attempts = new Counter({
    name: "framemill_worker_attempts_total",
    help: "Attempts that ended here: completed, or the code of the error.",
    labelNames: [...labelNames, "outcome"],
    registers,
  });
  const callersLost = new Counter({
    name: "framemill_worker_callers_lost_total",
    help: "Attempts stopped because the front that had their caller could not be reached for 15 s.",
    labelNames,
    registers,
  });
  const histogram = <Label extends string>(name: string, help: string, more: Label[]) =>
    new Histogram({
      name,
      help,
      labelNames: [...labelNames, ...more],
      buckets: SECONDS,
      registers,
    });
  const stages = histogram("framemill_worker_stage_seconds", "Time of one stage of an attempt.", [
    "stage",
  ]);
  const computed = histogram(
    "framemill_worker_compute_seconds",
    "Compute-seconds of an attempt that completed.",
    [],
  );
  const factor = new Histogram({
    name: "framemill_worker_real_time_factor",
    help: "Compute-seconds a second of video or sound.",
    labelNames,
    buckets: RATIOS,
    registers,
  });
  return {
    registry,
    watchStages: ({ modality, model }) =>
      createStageWatch(({ stage, startedAtMs, endedAtMs }) =>
        stages.observe({ modality, model, stage }, (endedAtMs - startedAtMs) / 1_000),
      ),
    completed({ modality, model }, { gpuMs, units }) {
      const seconds = gpuMs / 1_000;
      attempts.inc({ modality, model, outcome: "completed" });
      computed.observe({ modality, model }, seconds);
      const mediaSeconds = units.videoSeconds ?? units.audioSeconds ?? 0;
      if (mediaSeconds > 0) factor.observe({ modality, model }, seconds / mediaSeconds);
    },
    failed({ modality, model }, outcome) {
      attempts.inc({ modality, model, outcome });
    },
    callerLost: ({ modality, model }) => callersLost.inc({ modality, model }),
  };
}

type AddGauge = <Label extends string>(
  name: string,
  help: string,
  labelNames: Label[],
  collect: (gauge: Gauge<Label>) => void | Promise<void>,
) => void;

/** What holds at the moment of a scrape. */
function addProcessGauges(registry: Registry, options: WorkerMetricsOptions): void {
  const { state, obstacles, running, spooled, inference, marker } = options;
  const add = <Label extends string>(
    name: string,
    help: string,
    labelNames: Label[],
    collect: (gauge: Gauge<Label>) => void | Promise<void>,
  ) => {
    const gauge: Gauge<Label> = new Gauge({
      name,
      help,
      labelNames,
      registers: [registry],
      collect: () => collect(gauge),
    });
  };
  add("framemill_worker_jobs_running", "Jobs in flight on this worker.", [], (gauge) =>
    gauge.set(running()),
  );
  add("framemill_worker_state", "1 for the state the worker is in.", ["state"], (gauge) => {
    for (const each of WORKER_STATES) gauge.set({ state: each }, each === state() ? 1 : 0);
  });
  add(
    "framemill_worker_obstacle",
    "1 for what keeps the worker from taking jobs: its machine (disk, files, memory) or the artifact store.",
    ["part"],
    (gauge) => {
      for (const part of ["machine", "store"] as const)
        gauge.set({ part }, obstacles[part] === undefined ? 0 : 1);
    },
  );
  add(
    "framemill_worker_spooled_completions",
    "Finished jobs whose report no front has taken.",
    [],
    (gauge) => gauge.set(spooled()),
  );
  add(
    "framemill_worker_provider",
    "1 for each execution provider that the models asked for and got.",
    ["provider"],
    (gauge) => {
      gauge.reset();
      for (const provider of inference.providers ?? []) gauge.set({ provider }, 1);
    },
  );
  add(
    "framemill_worker_adoptions",
    "Inference processes that this worker found loaded and took over from the one before.",
    [],
    (gauge) => gauge.set(inference.adoptions ?? 0),
  );
  addMemoryGauges(add, inference);
  if (marker !== undefined)
    add(
      "framemill_worker_certificate_expires_seconds",
      "When the certificate that signs media expires, Unix time in seconds.",
      [],
      (gauge) => gauge.set(marker.signer.expiresAtMs / 1_000),
    );
}

function addMemoryGauges(add: AddGauge, inference: InferenceHost): void {
  add(
    "framemill_worker_memory_bytes",
    "Resident memory of the worker and of its inference process.",
    ["process"],
    async (gauge) => {
      gauge.set({ process: "worker" }, process.memoryUsage.rss());
      gauge.set({ process: "inference" }, await inference.memoryBytes());
    },
  );
  add(
    "framemill_worker_device_memory_bytes",
    "Memory of the GPUs that the models run on, of all their users; absent without one.",
    ["kind"],
    async (gauge) => {
      gauge.reset();
      const memory = await readDeviceMemory(inference.providers ?? ["cpu"], inference.devices);
      if (memory === undefined) return;
      gauge.set({ kind: "used" }, memory.usedBytes);
      gauge.set({ kind: "total" }, memory.totalBytes);
    },
  );
  add(
    "framemill_worker_memory_allowance_bytes",
    "What both may hold together before the inference process is replaced.",
    [],
    (gauge) => gauge.set(inference.allowanceBytes ?? 0),
  );
}
