import { setMaxListeners } from "node:events";
import type { Job } from "../core/job.js";
import type { Endpoint, Modality, ModelInfo } from "../core/modality.js";
import type { Reporter, WorkerOrders, WorkerStatus } from "../core/reports.js";
import type { Tracer } from "../core/tracing.js";
import type { InferenceHost } from "../inference/host.js";
import type { Broker, ConsumeOptions, Delivery } from "../queue/broker.js";
import type { ArtifactStore } from "../storage/artifact-store.js";
import type { Directives } from "./directives.js";
import { executeJob } from "./execute-job.js";
import { type HealthServer, startHealthServer, type WorkerHealth } from "./health.js";
import { createIntake } from "./intake.js";
import { keepPresence, type Presence } from "./presence.js";
import { openScratch } from "./scratch.js";
import { openSpool } from "./spool.js";
import type { Log } from "./log.js";
import { createWorkerMetrics, type WorkerMetricsOptions } from "./metrics.js";

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
  /** Tells the front of this worker. */
  readonly announce: (status: WorkerStatus) => Promise<WorkerOrders>;
  readonly closeReporters: () => Promise<void>;
  readonly directives: Directives;
  readonly inference: InferenceHost;
  readonly store: ArtifactStore;
  readonly findModality: (name: string) => Modality | undefined;
  readonly modalities: readonly Modality[];
  readonly tracer: Tracer;
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
  const { broker, models, slots, workerId, log } = options;
  let running = 0;
  let phase: WorkerHealth = "starting";
  const state = () => (phase === "ready" && running > 0 ? "busy" : phase);
  const scratch = await openScratch(options.scratchDir);
  const spool = await openSpool({ ...options, folder: options.spoolDir });
  const observed = { state, running: () => running, spooled: () => spool.size };
  const { health, metrics } = await openHealth(options, observed);
  const preempt = createPreempt();
  const onDrain = () => follow({ drain: true });
  const deps = { ...options, scratch, spool, metrics, onDrain, preempted: preempt.signal };
  const execute = async (delivery: Delivery) => {
    running += 1;
    return await executeJob(delivery, deps).finally(() => (running -= 1));
  };
  const intake = createIntake(() =>
    Promise.all(planConsuming(options).map((plan) => broker.consume(plan, execute))),
  );
  const follow = ({ drain }: WorkerOrders) => {
    if (phase === "stopped" || drain === (phase === "draining")) return;
    log.info({ workerId, drain }, drain ? "told to take no more jobs" : "told to take jobs");
    phase = drain ? "draining" : "ready";
    const turn = drain ? intake.close() : intake.open();
    turn.catch((error: unknown) => log.error({ reason: String(error) }, "queue not consumed"));
  };
  let presence: Presence | undefined;
  const announce = async () =>
    await options.announce({ ...(await describe(options)), state: state(), running });
  const close = async () => {
    spool.close();
    await presence?.leave();
    await closeAll({ health, options, scratch });
  };
  try {
    await options.inference.ready();
    await spool.sendAll();
    phase = "ready";
    const onRefused = (reason: string) => log.error({ reason }, "worker not announced");
    presence = await keepPresence({ announce, onOrders: follow, onRefused });
    if (state() === "ready") await intake.open();
  } catch (thrown) {
    await close();
    throw thrown;
  }
  log.info({ workerId, models: models.map(({ id }) => id), slots }, `worker ${state()}`);
  return {
    healthPort: health.port,
    get state() {
      return state();
    },
    async stop() {
      phase = "draining";
      const handOverMs = Math.min(HAND_OVER_MS, options.drainMs / 2);
      const timer = setTimeout(() => preempt.abort(), options.drainMs - handOverMs);
      await intake.close();
      clearTimeout(timer);
      phase = "stopped";
      await close();
    },
  };
}

async function describe({ workerId, models, slots, inference }: WorkerOptions) {
  const memoryBytes = process.memoryUsage.rss() + (await inference.memoryBytes());
  return {
    workerId,
    models: models.map(({ id }) => id),
    slots,
    device: inference.device,
    memoryBytes,
  };
}

/** Every job in flight listens: where a model batches, more than Node takes for sound. */
function createPreempt(): AbortController {
  const preempt = new AbortController();
  setMaxListeners(0, preempt.signal);
  return preempt;
}

/** The port that says how the worker is, and what is counted there. */
async function openHealth(
  { health, inference }: WorkerOptions,
  observed: Omit<WorkerMetricsOptions, "inference">,
) {
  const metrics = createWorkerMetrics({ ...observed, inference });
  const { state } = observed;
  return {
    metrics,
    health: await startHealthServer({ ...health, state, registry: metrics.registry }),
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
 * One intake for polled jobs of the models that run a job at a time, which share the slots, and one for
 * jobs with a caller on the line, which wait for callers' jobs only; one for each light model and for
 * each that batches as many jobs as its package says; and one for the jobs that a model takes ahead: a
 * worker without a job comes before those.
 */
function planConsuming({ models, slots, modalities }: WorkerOptions): ConsumeOptions[] {
  const keysOf = (model: ModelInfo, delivery?: Endpoint["delivery"]) =>
    modalities
      .filter(({ name, modelsOf }) => (modelsOf ?? name) === model.modality)
      .filter(({ endpoint }) => delivery === undefined || endpoint.delivery === delivery)
      .map(({ name }) => `${name}.${model.id}`);
  const batching = models
    .filter(({ concurrency }) => concurrency > 1)
    .map((model) => ({ routingKeys: keysOf(model), prefetch: model.concurrency }));
  const singles = models.filter(({ concurrency }) => concurrency === 1);
  const light = singles
    .filter(({ hasOwnSlot }) => hasOwnSlot === true)
    .map((model) => ({ routingKeys: keysOf(model), prefetch: slots }));
  const sharing = singles.filter(({ hasOwnSlot }) => hasOwnSlot !== true);
  const shared = (["reply", "poll"] as const).map((delivery) => ({
    routingKeys: sharing.flatMap((model) => keysOf(model, delivery)),
    prefetch: slots,
    priority: 1,
  }));
  const ahead = sharing
    .filter((model) => (model.ahead ?? 0) > 0)
    .map((model) => ({ routingKeys: keysOf(model), prefetch: slots * (model.ahead ?? 0) }));
  const plans = [...light, ...batching, ...shared, ...ahead];
  return plans.filter(({ routingKeys }) => routingKeys.length > 0);
}
