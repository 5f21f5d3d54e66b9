import {
  findPace,
  type JobKind,
  type OpenWork,
  PACE_SAMPLE,
  type Pace,
} from "../../core/scaling.js";
import { median } from "../measure.js";
import type { Arrival } from "./trace.js";

/** A job on its way through a simulation. */
export interface QueuedJob extends Arrival {
  /** Compute-seconds that it has behind it. */
  doneSeconds: number;
  /** Undefined until its first start. */
  startedSeconds: number | undefined;
}

interface RunTime extends JobKind {
  readonly secondsPerUnit: number;
}

/** Paces as the front knows them: medians by kind over the latest runs of all kinds. */
export function createPaceBook() {
  let latest: readonly RunTime[] = [];
  return {
    note(job: QueuedJob): void {
      const run = { ...kindOf(job), secondsPerUnit: job.seconds / job.work };
      latest = [...latest, run].slice(-PACE_SAMPLE);
    },
    read(): Pace[] {
      const paces: Pace[] = [];
      for (const kind of latest) {
        if (findPace(paces, kind) !== undefined) continue;
        const alike = latest.filter((run) => isSameKind(run, kind));
        const pace = median(alike.map(({ secondsPerUnit }) => secondsPerUnit));
        paces.push({ ...kindOf(kind), seconds_per_unit: pace });
      }
      return paces;
    },
  };
}

/** Open jobs by kind, from each one's work that is left. */
export function openWork(left: Iterable<readonly [QueuedJob, number]>): OpenWork[] {
  const kinds: (JobKind & { jobs: number; work_left: number })[] = [];
  for (const [job, work] of left) {
    const known = kinds.find((kind) => isSameKind(kind, job));
    if (known === undefined) kinds.push({ ...kindOf(job), jobs: 1, work_left: work });
    else {
      known.jobs += 1;
      known.work_left += work;
    }
  }
  return kinds;
}

function kindOf({ modality, model, tier }: JobKind): JobKind {
  return { modality, model, tier };
}

function isSameKind(left: JobKind, right: JobKind): boolean {
  return left.modality === right.modality && left.model === right.model && left.tier === right.tier;
}
