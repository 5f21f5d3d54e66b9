import {
  findPace,
  type JobKind,
  type OpenWork,
  PACE_SAMPLE,
  type Pace,
} from "../../../src/core/scaling.js";
import { median } from "../measure.js";
import type { Arrival } from "./trace.js";

/** A job on its way through a simulation. */
export interface QueuedJob extends Arrival {
  /** Compute-seconds that it has behind it. */
  doneSeconds: number;
  /** Undefined until its first start. */
  startedSeconds: number | undefined;
}

interface RunTimes extends JobKind {
  /** Newest last. */
  secondsPerUnit: readonly number[];
}

/** Paces as the front knows them: the median of each kind's latest runs. */
export function createPaceBook() {
  const kinds: RunTimes[] = [];
  return {
    note(job: QueuedJob): void {
      let kind = findPace(kinds, job);
      if (kind === undefined) kinds.push((kind = { ...kindOf(job), secondsPerUnit: [] }));
      kind.secondsPerUnit = [...kind.secondsPerUnit, job.seconds / job.work].slice(-PACE_SAMPLE);
    },
    read: (): Pace[] =>
      kinds.map(({ modality, model, tier, secondsPerUnit }) => {
        return { modality, model, tier, seconds_per_unit: median(secondsPerUnit) };
      }),
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
