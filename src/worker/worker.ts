import { setMaxListeners } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { type Closers, createClosers } from "../core/closers.js";
import { reasonOf, toJobError } from "../core/errors.js";
import type { Job } from "../core/job.js";
import { isPolled, type Modality, type ModelInfo } from "../core/modality.js";
import type { ListenAddress } from "../core/ports.js";
import { SERVICE_TIERS } from "../core/service-tier.js";
import type { Reporter, WorkerOrders, WorkerStatus } from "../core/reports.js";
import { type Page, servePages } from "../http/serve-pages.js";
import type { Broker, ConsumeOptions, Delivery, Subscription } from "../queue/index.js";
import type { WorkerDeps } from "./attempt.js";
import { executeJob } from "./execute-job.js";
import { createFitness, type Obstacles } from "./fitness.js";
import { createWorkerMetrics, type WorkerMetricsOptions } from "./metrics.js";
import { createPlaces, type Place } from "./places.js";
import { openScratch } from "./scratch.js";
import { openSpool } from "./spool.js";

/** What a worker opens itself, or is. */
type OwnDeps = "scratch" | "spool" | "fitness" | "onDrain" | "preempted" | "place" | "metrics";

export interface WorkerOptions extends Omit<WorkerDeps, OwnDeps> {
  readonly modalities: readonly Modality[];
  readonly slots: number;
  /** When its work began, on the clock of `performance.now`; with the process where absent. */
  readonly startedAtMs?: number;
  /** What its machine costs an hour, in nano-dollars; 0 where nobody has said. */
  readonly nanoUsdPerHour: number;
  readonly scratchDir: string;
  /** Folder of completions that no front has taken yet. */
  readonly spoolDir: string;
  /** Longest drain after `stop()`, in milliseconds; what runs longer goes back to the queue. */
  readonly drainMs: number;
  readonly health: Omit<ListenAddress, "setting">;
  readonly broker: Broker;
  /** Tells the front of this worker. */
  readonly announce: Reporter["announce"];
  readonly closeReporters: () => Promise<void>;
  /** Gives up a start that is under way. */
  readonly signal?: AbortSignal;
}

export interface Worker {
  readonly healthPort: number;
  readonly state: WorkerStatus["state"];
  /** Takes no more jobs, finishes those it has within the drain time, and closes everything it opened. */
  stop(): Promise<void>;
}

/** Of the drain time, what handing over a job that still runs may take, in milliseconds; half of it at most. */
const HAND_OVER_MS = 5_000;

/**
 * Starts consuming once the models are loaded. Rejects when they cannot be, or when `signal` aborts, with
 * everything closed that it was handed or has opened.
 */
export async function startWorker(options: WorkerOptions): Promise<Worker> {
  const closers = createClosers();
  closers.add(() => closeHanded(options));
  try {
    return await startParts(options, closers);
  } catch (thrown) {
    await closers.close();
    throw thrown;
  }
}

/** What a worker did not open itself. Both may be closed more than once. */
async function closeHanded({ inference, closeReporters }: WorkerOptions): Promise<void> {
  await inference.close();
  await closeReporters();
}

async function startParts(options: WorkerOptions, closers: Closers): Promise<Worker> {
  const { broker, models, slots, startedAtMs = 0, workerId, log } = options;
  const readUptimeMs = () => performance.now() - startedAtMs;
  const busy = createBusyClock();
  let phase: WorkerStatus["state"] = "starting";
  const state = () => {
    if (phase !== "ready") return phase;
    if (Object.keys(fitness.obstacles).length > 0) return "unready";
    return busy.jobs > 0 ? "busy" : "ready";
  };
  const plans = planConsuming(options).filter(({ routingKeys }) => routingKeys.length > 0);
  const fitness = createFitness({
    store: options.store,
    folders: [options.scratchDir, options.spoolDir],
    onChange: () => intake.limitTo(takenKeys(plans, options, fitness.obstacles)),
    log,
  });
  closers.add(() => fitness.close());
  const spool = await openSpool({ ...options, folder: options.spoolDir });
  closers.add(() => spool.close());
  const { obstacles } = fitness;
  const observed = { state, obstacles, running: () => busy.jobs, spooled: () => spool.size };
  const { health, metrics } = await openHealth(options, observed);
  closers.add(() => health.close());
  const scratch = await openScratch(options.scratchDir, (path, thrown) => {
    log.warn({ path, reason: reasonOf(thrown) }, "scratch folder not removed");
    fitness.met(toJobError(thrown));
  });
  closers.add(() => scratch.close());
  const preempt = new AbortController();
  // Every job in flight listens: where a model batches, more than Node's warning limit.
  setMaxListeners(0, preempt.signal);
  const onDrain = () => follow({ drain: true });
  const { signal: preempted } = preempt;
  const deps = { ...options, scratch, spool, fitness, metrics, onDrain, preempted };
  const enterPlace = createPolledPlaces(options);
  const execute = async (delivery: Delivery) => {
    const rest = busy.work();
    const place = enterPlace(delivery.job);
    return await executeJob(delivery, { ...deps, place }).finally(() => {
      place?.leave();
      rest();
    });
  };
  const intake = createIntake(() =>
    Promise.all(plans.map((plan) => broker.consume(plan, execute))),
  );
  const follow = ({ drain }: WorkerOrders) => {
    if (phase === "stopped" || drain === (phase === "draining")) return;
    log.info({ workerId, drain }, drain ? "told to take no more jobs" : "told to take jobs");
    phase = drain ? "draining" : "ready";
    const turn = drain ? intake.close() : intake.open();
    turn.catch((error: unknown) => log.error({ reason: String(error) }, "queue not consumed"));
  };
  let startingMs = 0;
  const announce = async () => {
    const described = await describe(options);
    const times = { uptimeMs: readUptimeMs(), startingMs, busyMs: busy.readMs() };
    return await options.announce({ ...described, ...times, state: state(), running: busy.jobs });
  };
  // Files and the health port outlive what writes and is watched.
  closers.add(() => closeHanded(options));
  await unlessGivenUp(options, async () => {
    await options.inference.ready();
    await spool.sendAll();
    startingMs = readUptimeMs();
    phase = "ready";
    const onRefused = (reason: string) => log.error({ reason }, "worker not announced");
    const endPresence = await keepPresence({ announce, onOrders: follow, onRefused });
    closers.add(async () => {
      phase = "stopped";
      await endPresence();
    });
  });
  if (state() === "ready") await intake.open();
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
      await closers.close();
    },
  };
}

/** Ends what `work` waits for when the start is given up, and rejects with the signal's reason then. */
async function unlessGivenUp(options: WorkerOptions, work: () => Promise<void>): Promise<void> {
  const { signal } = options;
  const giveUp = () => void closeHanded(options).catch(() => {}); // closed again, and awaited, at the end
  signal?.throwIfAborted();
  signal?.addEventListener("abort", giveUp, { once: true });
  try {
    await work();
  } catch (thrown) {
    signal?.throwIfAborted();
    throw thrown;
  } finally {
    signal?.removeEventListener("abort", giveUp);
  }
  signal?.throwIfAborted();
}

/** Jobs in hand, and how long there was at least one. */
function createBusyClock() {
  let jobs = 0;
  let sinceMs = 0;
  let sumMs = 0;
  const readMs = () => sumMs + (jobs > 0 ? performance.now() - sinceMs : 0);
  return {
    get jobs() {
      return jobs;
    },
    readMs,
    /** Until the returned function is called. */
    work() {
      if (jobs === 0) sinceMs = performance.now();
      jobs += 1;
      return () => {
        if (jobs === 1) sumMs = readMs();
        jobs -= 1;
      };
    },
  };
}

async function describe({ workerId, models, slots, nanoUsdPerHour, inference }: WorkerOptions) {
  const memoryBytes = process.memoryUsage.rss() + (await inference.memoryBytes());
  return {
    workerId,
    models: models.map(({ id }) => id),
    slots,
    nanoUsdPerHour,
    device: inference.device,
    memoryBytes,
  };
}

/** `/healthz` (the process lives), `/readyz` (it takes or runs jobs), `/metrics` and `/models` (in memory now). */
async function openHealth(
  { health, inference, marker, log }: WorkerOptions,
  observed: Omit<WorkerMetricsOptions, "inference" | "marker">,
) {
  const metrics = createWorkerMetrics({ ...observed, inference, marker });
  const { registry } = metrics;
  const pages = {
    "/healthz": () => ({ body: "ok\n" }),
    "/readyz": () => renderState(observed),
    "/models": () => ({
      contentType: "application/json",
      body: JSON.stringify({ loaded: inference.loadedModels ?? [] }),
    }),
    "/metrics": async () => ({
      contentType: registry.contentType,
      body: await registry.metrics(),
    }),
  };
  const onError = (error: unknown) => log.warn({ reason: reasonOf(error) }, "metrics not rendered");
  return {
    metrics,
    health: await servePages({ ...health, setting: "WORKER_PORT", pages, onError }),
  };
}

function renderState(observed: Pick<WorkerMetricsOptions, "state" | "obstacles">): Page {
  const state = observed.state();
  const reasons = Object.entries(observed.obstacles).map(([part, why]) => `${part}: ${why}\n`);
  const isReady = state === "ready" || state === "busy";
  return { status: isReady ? 200 : 503, body: `${state}\n${reasons.join("")}` };
}

/** With nowhere to write nothing is taken; without the store what ends in files is not. */
function takenKeys(
  plans: readonly ConsumeOptions[],
  { modalities }: WorkerOptions,
  { machine, store }: Obstacles,
): readonly string[] {
  if (machine !== undefined) return [];
  const keys = plans.flatMap(({ routingKeys }) => routingKeys);
  if (store === undefined) return keys;
  const polled = modalities.filter(isPolled);
  return keys.filter((key) => !polled.some(({ name }) => key.startsWith(`${name}.`)));
}

/** Jobs of models that run one at a time, and are no light ones, share the slots. */
function sharesSlots({ concurrency, hasOwnSlot }: ModelInfo): boolean {
  return concurrency === 1 && hasOwnSlot !== true;
}

function resumableOf(modalities: readonly Modality[]): ReadonlySet<string> {
  return new Set(modalities.filter(({ isResumable }) => isResumable).map(({ name }) => name));
}

/** Gives a place to each polled job that shares the slots. */
function createPolledPlaces({ modalities, models, slots }: WorkerOptions) {
  const polled = new Set(modalities.filter(isPolled).map(({ name }) => name));
  const places = createPlaces(slots, resumableOf(modalities));
  const sharing = new Set(models.filter(sharesSlots).map(({ id }) => id));
  return (job: Job): Place | undefined =>
    polled.has(job.modality) && sharing.has(job.model) ? places.enter(job) : undefined;
}

/**
 * One intake for polled jobs of the models that run a job at a time, which share the slots, and one for
 * jobs with a caller on the line, which wait for callers' jobs only; one for each light model and for
 * each that batches as many jobs as its package says; and one for the jobs that a model takes ahead, of
 * which flex are none: a worker without a job comes before those, and before one with a flex job.
 */
function planConsuming({ models, slots, modalities }: WorkerOptions): ConsumeOptions[] {
  const keysOf = (model: ModelInfo, polled?: boolean) =>
    modalities
      .filter(({ name, modelsOf }) => (modelsOf ?? name) === model.modality)
      .filter((modality) => polled === undefined || isPolled(modality) === polled)
      .map(({ name }) => `${name}.${model.id}`);
  const batching = models
    .filter(({ concurrency }) => concurrency > 1)
    .map((model) => ({
      routingKeys: keysOf(model),
      serviceTiers: SERVICE_TIERS,
      prefetch: model.concurrency,
    }));
  const singles = models.filter(({ concurrency }) => concurrency === 1);
  const light = singles
    .filter(({ hasOwnSlot }) => hasOwnSlot === true)
    .map((model) => ({
      routingKeys: keysOf(model),
      serviceTiers: SERVICE_TIERS,
      prefetch: slots,
    }));
  const sharing = models.filter(sharesSlots);
  const resumable = [...resumableOf(modalities)];
  const isResumable = (key: string) => resumable.some((name) => key.startsWith(`${name}.`));
  const shared = [false, true].map((polled) => {
    const routingKeys = sharing.flatMap((model) => keysOf(model, polled));
    const preemptible = routingKeys.filter(isResumable);
    return { routingKeys, serviceTiers: SERVICE_TIERS, prefetch: slots, priority: 2, preemptible };
  });
  const ahead = sharing
    .filter((model) => (model.ahead ?? 0) > 0)
    .map((model) => ({
      routingKeys: keysOf(model),
      prefetch: slots * (model.ahead ?? 0),
      serviceTiers: ["priority", "default"] as const,
    }));
  return [...light, ...batching, ...shared, ...ahead];
}

/** Taking jobs from the queue, which operators and the end of the process turn on and off. */
interface Intake {
  /** Rejects where the queue cannot be consumed. */
  open(): Promise<void>;
  /** Takes no more jobs; resolves when those in hand have ended. */
  close(): Promise<void>;
  /** Takes jobs of these routing keys only, from now on; those in hand go on. */
  limitTo(routingKeys: readonly string[]): void;
}

/** One turn after the other: what is closing is closed before it opens again. */
function createIntake(subscribe: () => Promise<readonly Subscription[]>): Intake {
  let subscriptions: readonly Subscription[] = [];
  let limit: readonly string[] | undefined;
  let last: Promise<void> = Promise.resolve();
  const next = (turn: () => Promise<void>): Promise<void> =>
    (last = last.catch(() => {}).then(turn));
  return {
    open: () =>
      next(async () => {
        if (subscriptions.length > 0) return;
        subscriptions = await subscribe();
        if (limit !== undefined) for (const one of subscriptions) one.limitTo(limit);
      }),
    close: () =>
      next(async () => {
        await Promise.all(subscriptions.map((subscription) => subscription.stop()));
        subscriptions = [];
      }),
    limitTo(routingKeys) {
      limit = routingKeys;
      for (const subscription of subscriptions) subscription.limitTo(limit);
    },
  };
}

const ANNOUNCE_MS = 5_000;
/** Longest wait of a stopping worker for a front that takes its last announcement. */
const LAST_ANNOUNCEMENT_MS = 1_000;

interface PresenceOptions {
  /** Tells the front how this worker is doing now. */
  readonly announce: () => Promise<WorkerOrders>;
  readonly onOrders: (orders: WorkerOrders) => void;
  /** The front does not take this worker for one of its own any more. */
  readonly onRefused: (reason: string) => void;
}

/**
 * Announces a worker every 5 s. Resolves after the first answer or, with the front away, after its
 * deadline: operators may want a worker drained that only now starts. Rejects where the front refuses it.
 * Returns the function that announces once more and ends.
 */
async function keepPresence(options: PresenceOptions): Promise<() => Promise<void>> {
  const { announce, onOrders, onRefused } = options;
  const ended = new AbortController();
  const { signal } = ended;
  const tell = async () => {
    const orders = await announce().catch(throwRefusal);
    if (orders !== undefined && !signal.aborted) onOrders(orders);
  };
  await tell();
  const announcing = (async () => {
    while (!signal.aborted) {
      await sleep(ANNOUNCE_MS, undefined, { signal, ref: false }).catch(() => {});
      if (!signal.aborted) await tell().catch((thrown) => onRefused(toJobError(thrown).message));
    }
  })();
  return async () => {
    ended.abort();
    await announcing;
    const last = announce().catch(() => undefined);
    await Promise.race([last, sleep(LAST_ANNOUNCEMENT_MS, undefined, { ref: false })]);
  };
}

/** A front that is away will be back. */
function throwRefusal(thrown: unknown): undefined {
  if (toJobError(thrown).code === "invalid_api_key") throw thrown;
}
