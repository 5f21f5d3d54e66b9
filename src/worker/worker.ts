import type { Job } from "../core/job.js";
import type { Modality, ModelInfo } from "../core/modality.js";
import type { Reporter } from "../core/reports.js";
import type { InferenceHost } from "../inference/host.js";
import type { Broker, ConsumeOptions, Delivery, Subscription } from "../queue/broker.js";
import type { ArtifactStore } from "../storage/artifact-store.js";
import type { Directives } from "./directives.js";
import { executeJob } from "./execute-job.js";
import { type HealthServer, startHealthServer, type WorkerHealth } from "./health.js";
import { openScratch } from "./scratch.js";
import { openSpool } from "./spool.js";
import type { Log } from "./log.js";

export interface WorkerOptions {
  readonly workerId: string;
  readonly models: readonly ModelInfo[];
  readonly slots: number;
  readonly scratchDir: string;
  /** Folder of completions that no front has taken yet. */
  readonly spoolDir: string;
  readonly jobTimeoutMs: number;
  /** Longest drain after `stop()`, in milliseconds; what runs longer goes back to the queue. */
  readonly drainMs: number;
  readonly health: { readonly host: string; readonly port: number };
  readonly broker: Broker;
  readonly reporterOf: (job: Pick<Job, "modality" | "reportTo">) => Reporter;
  readonly closeReporters: () => Promise<void>;
  readonly directives: Directives;
  readonly inference: InferenceHost;
  readonly store: ArtifactStore;
  readonly findModality: (name: string) => Modality | undefined;
  readonly modalities: readonly Modality[];
  readonly log: Log;
}

export interface Worker {
  readonly healthPort: number;
  readonly state: WorkerHealth;
  /** Takes no more jobs, finishes those it has within the drain time, and lets go of everything it opened. */
  stop(): Promise<void>;
}

/** Of the drain time, what handing over a job that still runs may take, in milliseconds; half of it at most. */
const HAND_OVER_MS = 5_000;

/** Starts consuming once the models are loaded; rejects when they cannot be. */
export async function startWorker(options: WorkerOptions): Promise<Worker> {
  const { broker, models, slots, log } = options;
  let running = 0;
  let phase: WorkerHealth = "starting";
  const state = () => (phase === "ready" && running > 0 ? "busy" : phase);
  const health = await startHealthServer({ ...options.health, state, running: () => running });
  const scratch = await openScratch(options.scratchDir);
  const { spoolDir: folder, reporterOf } = options;
  const spool = await openSpool({ folder, reporterOf, log });
  const preempt = new AbortController();
  let subscriptions: readonly Subscription[] = [];
  const stopConsuming = async () => {
    await Promise.all(subscriptions.map((subscription) => subscription.stop()));
  };
  const onDrain = () => {
    if (phase === "ready") phase = "draining";
    void stopConsuming();
  };
  const deps = { ...options, scratch, spool, onDrain, preempted: preempt.signal };

  const close = () => closeAll({ health, options, scratch });
  try {
    await options.inference.ready();
    await spool.sendAll();
    const execute = async (delivery: Delivery) => {
      running += 1;
      try {
        return await executeJob(delivery, deps);
      } finally {
        running -= 1;
      }
    };
    subscriptions = await Promise.all(
      planConsuming(options).map((intake) => broker.consume(intake, execute)),
    );
  } catch (thrown) {
    await close();
    throw thrown;
  }
  phase = "ready";
  log.info(
    { workerId: options.workerId, models: models.map(({ id }) => id), slots },
    "worker ready",
  );
  return {
    healthPort: health.port,
    get state() {
      return state();
    },
    async stop() {
      phase = "draining";
      const handOverMs = Math.min(HAND_OVER_MS, options.drainMs / 2);
      const timer = setTimeout(() => preempt.abort(), options.drainMs - handOverMs);
      await stopConsuming();
      clearTimeout(timer);
      await close();
      phase = "stopped";
    },
  };
}

interface Opened {
  readonly health: HealthServer;
  readonly scratch: { close(): Promise<void> };
  readonly options: WorkerOptions;
}

async function closeAll({ health, scratch, options }: Opened): Promise<void> {
  await options.inference.close();
  await options.closeReporters();
  await scratch.close();
  await health.close();
}

/**
 * One intake for the models that run a job at a time, which share the slots, and one for each model
 * that batches as many jobs as its package says.
 */
function planConsuming(options: WorkerOptions): ConsumeOptions[] {
  const { models, slots, modalities } = options;
  const keysOf = (model: ModelInfo) =>
    modalities
      .filter(({ name, modelsOf }) => (modelsOf ?? name) === model.modality)
      .map(({ name }) => `${name}.${model.id}`);
  const single = models.filter(({ concurrency }) => concurrency === 1).flatMap(keysOf);
  const batching = models
    .filter(({ concurrency }) => concurrency > 1)
    .map((model) => ({ routingKeys: keysOf(model), prefetch: model.concurrency }));
  return single.length === 0 ? batching : [{ routingKeys: single, prefetch: slots }, ...batching];
}
