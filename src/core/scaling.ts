import { JobError } from "./errors.js";

/** Work that has no end yet, queued and running. */
export interface Outstanding {
  /** Of a model that runs several at once in a worker, so many count as one. */
  readonly jobs: number;
  /** Seconds that a worker will need for it, as far as its kind was measured. */
  readonly seconds: number;
}

/** Jobs that take the same time a unit of work. */
export interface JobKind {
  readonly modality: string;
  readonly model: string;
  readonly tier: string;
}

/** The open jobs of one kind. */
export interface OpenWork extends JobKind {
  readonly jobs: number;
  /** Units of work that are still to be done, of all of them. */
  readonly work_left: number;
}

/** How long jobs of a kind took. */
export interface Pace extends JobKind {
  /** Median of the latest runs: seconds of a worker a unit of work, shared by the jobs that it runs at once. */
  readonly seconds_per_unit: number;
}

/** Completed runs of each kind that its pace is taken from: the latest. */
export const PACE_SAMPLE = 50;

export function findPace<Known extends JobKind>(
  paces: readonly Known[],
  kind: JobKind,
): Known | undefined {
  return paces.find(
    ({ modality, model, tier }) =>
      modality === kind.modality && model === kind.model && tier === kind.tier,
  );
}

/**
 * Kinds that were never measured count as jobs and not as seconds. `concurrencyOf` says how many jobs of
 * a model a worker runs at once.
 */
export function sumOutstanding(
  kinds: readonly OpenWork[],
  paces: readonly Pace[],
  concurrencyOf: (model: string) => number = () => 1,
): Outstanding {
  return {
    jobs: kinds.reduce((sum, { jobs, model }) => sum + jobs / concurrencyOf(model), 0),
    seconds: kinds.reduce(
      (sum, kind) => sum + kind.work_left * (findPace(paces, kind)?.seconds_per_unit ?? 0),
      0,
    ),
  };
}

/** What a trigger of KEDA's asks for. */
export interface ScalerTrigger {
  /** All where the list is empty. */
  readonly models: readonly string[];
  readonly jobsPerWorker: number | undefined;
  readonly secondsPerWorker: number | undefined;
  /** What one of its workers costs; as those that run announce it where it is not said. */
  readonly gpuDollarsPerHour: number | undefined;
}

/** The workers of a trigger that one of its metrics asks for. */
export interface WantedWorkers {
  readonly metric: string;
  readonly workers: number;
}

/** A number that the autoscaler divides by its target to have the workers that are wanted. */
export interface ScalerMetric {
  readonly metricName: typeof JOBS | typeof SECONDS;
  /** What one worker should have. */
  readonly target: number;
}

const JOBS = "outstanding-jobs";
const SECONDS = "outstanding-seconds";

/** Metadata of the trigger: `models`, `jobsPerWorker`, `secondsPerWorker`, `gpuDollarsPerHour`. Throws `invalid_value`. */
export function parseTrigger(metadata: Readonly<Record<string, string>>): ScalerTrigger {
  const { models = "", jobsPerWorker, secondsPerWorker, gpuDollarsPerHour } = metadata;
  const seconds = parsePositive("secondsPerWorker", secondsPerWorker);
  return {
    models: models
      .split(",")
      .map((id) => id.trim())
      .filter(Boolean),
    jobsPerWorker:
      parsePositive("jobsPerWorker", jobsPerWorker) ?? (seconds === undefined ? 1 : undefined),
    secondsPerWorker: seconds,
    gpuDollarsPerHour: parsePositive("gpuDollarsPerHour", gpuDollarsPerHour),
  };
}

export function metricsOf({ jobsPerWorker, secondsPerWorker }: ScalerTrigger): ScalerMetric[] {
  return [
    ...(jobsPerWorker === undefined ? [] : [{ metricName: JOBS, target: jobsPerWorker } as const]),
    ...(secondsPerWorker === undefined
      ? []
      : [{ metricName: SECONDS, target: secondsPerWorker } as const]),
  ];
}

/** The value of the metric of this name. */
export function metricValue(metricName: string, { jobs, seconds }: Outstanding): number {
  return metricName === SECONDS ? seconds : jobs;
}

/** Whether there should be a worker at all. */
export function isActive({ jobs }: Outstanding): boolean {
  return jobs > 0;
}

function parsePositive(name: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const value = Number(text);
  if (value > 0 && Number.isFinite(value)) return value;
  throw new JobError("invalid_value", `${name} must be a number above 0, got ${text}`);
}
