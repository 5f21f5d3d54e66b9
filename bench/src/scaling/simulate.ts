import { type Outstanding, sumOutstanding } from "../../../src/core/scaling.js";
import { Autoscaler, type AutoscalerOptions, SYNC_SECONDS } from "./autoscaler.js";
import {
  createPaceBook,
  openWork,
  type PodOptions,
  Pods,
  type PodTotals,
  type QueuedJob,
} from "./pods.js";
import type { Arrival } from "./trace.js";

export interface SimulationOptions {
  readonly autoscaler: AutoscalerOptions;
  readonly pods: PodOptions;
  /** A job that was not started by then is dropped. */
  readonly deadlineSeconds: number;
  /** Pods that serve when the trace begins; `minReplicas` where absent. */
  readonly startWith?: number;
}

/** How things stood when the horizontal pod autoscaler looked. */
export interface Sample {
  readonly atSeconds: number;
  readonly waiting: number;
  readonly running: number;
  /** With those that start and those that leave. */
  readonly pods: number;
  readonly replicas: number;
}

export interface Simulated {
  /** From arrival to the first start, in the order of the starts. */
  readonly waits: readonly { readonly atSeconds: number; readonly seconds: number }[];
  readonly served: number;
  /** Past their deadline before a worker was free. */
  readonly dropped: number;
  readonly samples: readonly Sample[];
  readonly totals: PodTotals;
  /** Until the last job and the last pod above the minimum were gone. */
  readonly lastedSeconds: number;
}

/** The front looks for KEDA's open stream as often as this (src/rpc/scaler-server.ts). */
const LOOK_SECONDS = 1;

/** Plays a trace through queue, pods and autoscaler, event by event. The same for the same input. */
export function simulate(trace: readonly Arrival[], options: SimulationOptions): Simulated {
  const run = new Simulation(trace, options);
  while (!run.isOver) run.step();
  return run.result();
}

class Simulation {
  readonly #trace: readonly Arrival[];
  readonly #options: SimulationOptions;
  readonly #autoscaler: Autoscaler;
  readonly #pods: Pods;
  readonly #paces = createPaceBook();
  /** Handed over: they go first. */
  #returned: QueuedJob[] = [];
  readonly #queue: QueuedJob[] = [];
  /** What lies before it has left the queue. */
  #head = 0;
  #arrived = 0;
  #nowSeconds = 0;
  #nextSyncSeconds = 0;
  #nextPollSeconds = 0;
  /** A job came while there was no pod: KEDA hears of it by its stream. */
  #wakeSeconds = Infinity;
  #served = 0;
  #dropped = 0;
  readonly #waits: { atSeconds: number; seconds: number }[] = [];
  readonly #samples: Sample[] = [];

  constructor(trace: readonly Arrival[], options: SimulationOptions) {
    this.#trace = trace;
    this.#options = options;
    this.#autoscaler = new Autoscaler(options.autoscaler);
    this.#pods = new Pods(options.pods);
    this.#pods.createReady(options.startWith ?? options.autoscaler.minReplicas);
  }

  get isOver(): boolean {
    const { minReplicas } = this.#options.autoscaler;
    const isIdle = this.#arrived === this.#trace.length && this.#open === 0;
    return isIdle && this.#pods.count <= minReplicas;
  }

  step(): void {
    this.#nowSeconds = this.#nextSeconds();
    const now = this.#nowSeconds;
    for (const job of this.#pods.finish(now)) {
      this.#paces.note(job);
      this.#served += 1;
    }
    this.#returned.push(...this.#pods.leave(now));
    this.#arrive();
    this.#drop();
    this.#autoscale();
    this.#returned.push(...this.#pods.leave(now));
    this.#dispatch();
  }

  result(): Simulated {
    this.#pods.close(this.#nowSeconds);
    return {
      waits: this.#waits,
      served: this.#served,
      dropped: this.#dropped,
      samples: this.#samples,
      totals: this.#pods.totals,
      lastedSeconds: this.#nowSeconds,
    };
  }

  get #waiting(): number {
    return this.#queue.length - this.#head + this.#returned.length;
  }

  get #open(): number {
    return this.#waiting + this.#pods.running;
  }

  #nextSeconds(): number {
    const arrival = this.#trace[this.#arrived]?.atSeconds ?? Infinity;
    const deadline = this.#deadlineOf(this.#queue[this.#head]);
    const looks = [this.#nextSyncSeconds, this.#nextPollSeconds, this.#wakeSeconds];
    return Math.min(arrival, deadline, ...looks, this.#pods.nextSeconds(this.#nowSeconds));
  }

  #deadlineOf(job: QueuedJob | undefined): number {
    return job === undefined ? Infinity : job.atSeconds + this.#options.deadlineSeconds;
  }

  #arrive(): void {
    for (;;) {
      const next = this.#trace[this.#arrived];
      if (next === undefined || next.atSeconds > this.#nowSeconds) return;
      this.#queue.push({ ...next, doneSeconds: 0, startedSeconds: undefined });
      this.#arrived += 1;
      if (this.#pods.replicas === 0)
        this.#wakeSeconds = Math.min(this.#wakeSeconds, this.#nowSeconds + LOOK_SECONDS);
    }
  }

  /** Also those that were handed over: nobody holds them. */
  #drop(): void {
    const isLate = (job: QueuedJob) => this.#deadlineOf(job) <= this.#nowSeconds;
    for (;;) {
      const next = this.#queue[this.#head];
      if (next === undefined || !isLate(next)) break;
      this.#head += 1;
      this.#dropped += 1;
    }
    const kept = this.#returned.filter((job) => !isLate(job));
    this.#dropped += this.#returned.length - kept.length;
    this.#returned = kept;
  }

  #autoscale(): void {
    const now = this.#nowSeconds;
    const { pollingSeconds } = this.#options.autoscaler;
    const isPoll = now >= this.#nextPollSeconds || now >= this.#wakeSeconds;
    const isSync = now >= this.#nextSyncSeconds;
    if (!isPoll && !isSync) return;
    const outstanding = this.#outstanding();
    if (isPoll) {
      this.#pods.scale(now, this.#autoscaler.poll(now, this.#pods.replicas, outstanding));
      this.#wakeSeconds = Infinity;
      if (now >= this.#nextPollSeconds) this.#nextPollSeconds += pollingSeconds;
    }
    if (!isSync) return;
    this.#pods.scale(now, this.#autoscaler.sync(now, this.#pods.replicas, outstanding));
    this.#nextSyncSeconds += SYNC_SECONDS;
    this.#sample();
  }

  #outstanding(): Outstanding {
    const waiting = [...this.#queue.slice(this.#head), ...this.#returned].map(
      (job) => [job, (job.work * (job.seconds - job.doneSeconds)) / job.seconds] as const,
    );
    const left = openWork([...waiting, ...this.#pods.workLeft(this.#nowSeconds)]);
    return sumOutstanding(left, this.#paces.read());
  }

  #dispatch(): void {
    while (this.#waiting > 0) {
      const job = this.#returned[0] ?? this.#queue[this.#head];
      if (job === undefined || !this.#pods.start(this.#nowSeconds, job)) return;
      if (this.#returned.length > 0) this.#returned.shift();
      else this.#head += 1;
      if (job.startedSeconds !== undefined) continue;
      job.startedSeconds = this.#nowSeconds;
      this.#waits.push({ atSeconds: this.#nowSeconds, seconds: this.#nowSeconds - job.atSeconds });
    }
  }

  #sample(): void {
    const { running, count: pods, replicas } = this.#pods;
    this.#samples.push({
      atSeconds: this.#nowSeconds,
      waiting: this.#waiting,
      running,
      pods,
      replicas,
    });
  }
}
