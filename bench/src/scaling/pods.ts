import {
  findPace,
  type JobKind,
  type OpenWork,
  type Pace,
  PACE_SAMPLE,
} from "../../../src/core/scaling.js";
import { median } from "../report/measure.js";
import type { Arrival } from "./trace.js";

export interface PodOptions {
  /** Jobs that one runs at once. */
  readonly slots: number;
  /** From its creation until it takes jobs: machine, image, models. */
  readonly startSeconds: number;
  /** What a pod that is told to leave may still work. */
  readonly drainSeconds: number;
  /** Whether a pod with jobs goes after those without, as pods with a deletion cost would. */
  readonly busyLast: boolean;
  /** Whether a job that is handed over goes on where it was. */
  readonly resumes: boolean;
}

interface Run {
  readonly job: QueuedJob;
  readonly startedSeconds: number;
  readonly endsSeconds: number;
}

interface Pod {
  readonly createdSeconds: number;
  readonly readySeconds: number;
  /** Undefined until it is told to leave. */
  leavesSeconds: number | undefined;
  runs: readonly Run[];
  idleSinceSeconds: number;
}

/** What the pods of a run came to. */
export interface PodTotals {
  /** From creation to the end, machines that only start included. */
  paidSeconds: number;
  /** Slot-seconds with a job. */
  busySeconds: number;
  /** Jobs that a leaving pod handed over. */
  handedOver: number;
}

/** The pods of one Deployment. Terminating ones work on for a while and count no more. */
export class Pods {
  readonly totals: PodTotals = { paidSeconds: 0, busySeconds: 0, handedOver: 0 };
  readonly #options: PodOptions;
  #pods: readonly Pod[] = [];

  constructor(options: PodOptions) {
    this.#options = options;
  }

  /** Those that were asked for and not told to leave. */
  get replicas(): number {
    return this.#staying.length;
  }

  /** With those that are leaving. */
  get count(): number {
    return this.#pods.length;
  }

  get running(): number {
    return this.#pods.reduce((sum, { runs }) => sum + runs.length, 0);
  }

  /** Units of work that are still to be done of jobs that run, by job. Reported in whole percent, as workers do. */
  *workLeft(atSeconds: number): Generator<readonly [QueuedJob, number]> {
    for (const { runs } of this.#pods)
      for (const run of runs) {
        const fraction = doneOf(run, atSeconds) / run.job.seconds;
        const percent = Math.min(99, Math.floor(fraction * 100));
        yield [run.job, (run.job.work * (100 - percent)) / 100];
      }
  }

  /** When something happens here next; infinity where nothing will. */
  nextSeconds(atSeconds: number): number {
    const times = this.#pods.flatMap(({ readySeconds, leavesSeconds, runs }) => [
      ...(readySeconds > atSeconds ? [readySeconds] : []),
      ...(leavesSeconds === undefined ? [] : [leavesSeconds]),
      ...runs.map(({ endsSeconds }) => endsSeconds),
    ]);
    return Math.min(Infinity, ...times);
  }

  /** Creates pods, or tells some to leave. */
  scale(atSeconds: number, replicas: number): void {
    const missing = replicas - this.replicas;
    for (let made = 0; made < missing; made += 1) this.#create(atSeconds);
    for (const pod of this.#victims(Math.max(0, -missing)))
      pod.leavesSeconds = atSeconds + this.#options.drainSeconds;
  }

  /** Pods that serve from the start. */
  createReady(count: number): void {
    for (let made = 0; made < count; made += 1) this.#create(-this.#options.startSeconds);
  }

  /** Ends what ends now; resolves to the jobs that are done. */
  finish(atSeconds: number): QueuedJob[] {
    const done: QueuedJob[] = [];
    for (const pod of this.#pods) {
      const ended = pod.runs.filter(({ endsSeconds }) => endsSeconds <= atSeconds);
      if (ended.length === 0) continue;
      pod.runs = pod.runs.filter((run) => !ended.includes(run));
      pod.idleSinceSeconds = atSeconds;
      for (const run of ended) {
        this.totals.busySeconds += atSeconds - run.startedSeconds;
        done.push(run.job);
      }
    }
    return done;
  }

  /** Lets pods go that have no job left, or no time; these hand theirs over. */
  leave(atSeconds: number): QueuedJob[] {
    const handed: QueuedJob[] = [];
    const stays = ({ leavesSeconds, runs }: Pod) =>
      leavesSeconds === undefined || (runs.length > 0 && leavesSeconds > atSeconds);
    for (const pod of this.#pods.filter((each) => !stays(each))) {
      for (const run of pod.runs) {
        this.totals.busySeconds += atSeconds - run.startedSeconds;
        run.job.doneSeconds = this.#options.resumes ? doneOf(run, atSeconds) : 0;
        handed.push(run.job);
      }
      this.totals.handedOver += pod.runs.length;
      this.totals.paidSeconds += atSeconds - Math.max(0, pod.createdSeconds);
    }
    this.#pods = this.#pods.filter(stays);
    return handed;
  }

  /** Gives a job to the pod that has the fewest, the longest idle first; false where none is free. */
  start(atSeconds: number, job: QueuedJob): boolean {
    const free = this.#staying
      .filter(
        ({ readySeconds, runs }) => readySeconds <= atSeconds && runs.length < this.#options.slots,
      )
      .toSorted((a, b) => a.runs.length - b.runs.length || a.idleSinceSeconds - b.idleSinceSeconds);
    const [pod] = free;
    if (pod === undefined) return false;
    const endsSeconds = atSeconds + job.seconds - job.doneSeconds;
    pod.runs = [...pod.runs, { job, startedSeconds: atSeconds, endsSeconds }];
    return true;
  }

  /** Stops the clock of what is still there. */
  close(atSeconds: number): void {
    for (const { createdSeconds } of this.#pods)
      this.totals.paidSeconds += atSeconds - Math.max(0, createdSeconds);
  }

  get #staying(): readonly Pod[] {
    return this.#pods.filter(({ leavesSeconds }) => leavesSeconds === undefined);
  }

  #create(atSeconds: number): void {
    const readySeconds = atSeconds + this.#options.startSeconds;
    const pod = { createdSeconds: atSeconds, readySeconds, leavesSeconds: undefined, runs: [] };
    this.#pods = [...this.#pods, { ...pod, idleSinceSeconds: readySeconds }];
  }

  /** As a ReplicaSet chooses: those that do not serve yet, by deletion cost, then the newest. */
  #victims(count: number): readonly Pod[] {
    const cost = ({ runs }: Pod) => (this.#options.busyLast ? runs.length : 0);
    return this.#staying
      .toSorted((a, b) => cost(a) - cost(b) || b.readySeconds - a.readySeconds)
      .slice(0, count);
  }
}

function doneOf({ job, startedSeconds }: Run, atSeconds: number): number {
  return job.doneSeconds + atSeconds - startedSeconds;
}

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
