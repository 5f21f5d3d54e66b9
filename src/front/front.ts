import { randomBytes } from "node:crypto";
import { setMaxListeners } from "node:events";
import { readFile } from "node:fs/promises";
import { networkInterfaces } from "node:os";
import type { FastifyInstance } from "fastify";
import type { Logger } from "pino";
import { type Config, isLoopback, parseModelAliases } from "../config.js";
import { type Closers, createClosers } from "../core/closers.js";
import { JobError } from "../core/errors.js";
import { type PagesServer, servePages } from "../http/serve-pages.js";
import { isPolled, type Modality, type ModelInfo } from "../core/modality.js";
import { listenAt } from "../core/ports.js";
import type { WorkerStatus } from "../core/reports.js";
import { type Tracer, UNTRACED } from "../core/tracing.js";
import { findModality, listModalities } from "../modalities/registry.js";
import type { Broker } from "../queue/index.js";
import {
  readTlsFiles,
  type ReportServer,
  type ReportServerOptions,
  type ScalerServer,
  startReportServer,
  startScalerServer,
} from "../rpc/index.js";
import type { ArtifactStore } from "../storage/index.js";
import {
  type Caller,
  createJobNotifications,
  createFencing,
  createKeys,
  createOutbox,
  createPaceNotes,
  type Database,
  FENCING_SECRET,
  findOwnLease,
  grantWorkers,
  keepFrontPresence,
  type Keys,
  openDatabase,
  checkTiers,
  readPriceTable,
  readSharedSecret,
  startJanitor,
} from "./ledger/index.js";
import {
  addCommonRoutes,
  addFileRoute,
  addLiveRoutes,
  addJobRoutes,
  addReplyRoutes,
  createContentCheck,
  createEstimates,
  createLiveStreams,
  createJobId,
  createLiveClips,
  createLookAtJob,
  createReportHandlers,
  createSentReader,
  createSubmitJob,
  type Estimates,
  type RepliesOptions,
  type ReportHandlers,
  type RoutesOptions,
  type RunJudge,
  startReply,
  type Submission,
} from "./jobs/index.js";
import {
  addOpenRoutes,
  createFileLinks,
  createLimits,
  createLongBodies,
  createReadiness,
  createServer,
  createWatchLimit,
  fullAllowance,
  admitPrograms,
  limitFailures,
  watchParts,
  watchUnused,
  withAliases,
} from "./http/index.js";
import { createMetrics, type Metrics, startWebhooks } from "./operations/index.js";

/** Longest wait for the judgement of a prompt, in milliseconds. */
const JUDGE_MS = 30_000;

export interface FrontOptions {
  readonly config: Config;
  readonly broker: Broker;
  readonly store: ArtifactStore;
  readonly models: readonly ModelInfo[];
  readonly log: Logger;
  /** Nothing is traced without one. */
  readonly tracer?: Tracer;
  /** An open database, closed by its owner; by default one is opened from the configuration. */
  readonly database?: Database;
  /**
   * Front and worker are one process (`up`): it is ready once that worker is, and default ports that
   * are taken give way to free ones.
   */
  readonly hasOwnWorker?: boolean;
  /**
   * Whom every request is served as, whatever key it has, but those of web pages: for benchmarks on this
   * machine. By default a key says it.
   */
  readonly onlyCaller?: (parts: Pick<FrontParts, "keys" | "database">) => Promise<Caller>;
  /** Adds routes that need no API key (pages, the admin routes), before the server listens. */
  readonly addPages?: (app: FastifyInstance, front: FrontParts) => void | Promise<void>;
}

/** What stands before the server listens. */
export interface FrontParts {
  readonly keys: Keys;
  readonly database: Database;
  /** What workers' reports do; the gRPC server calls the same. */
  readonly handlers: ReportHandlers;
}

export interface Front extends FrontParts {
  /** Base address of the API, with `/v1`. */
  readonly baseUrl: string;
  /** Scheme, host and port. */
  readonly origin: string;
  readonly port: number;
  readonly grpcPort: number;
  /** Where a worker on this machine reaches gRPC, `host:port`. */
  readonly grpcAddress: string;
  /** The way here for a worker of this process. */
  readonly connect: ReportServer["connect"];
  /** Of `/metrics`, where it has a port of its own. */
  readonly metricsPort: number | undefined;
  /** Of KEDA's external scaler, where it is served. */
  readonly scalerPort: number | undefined;
  /** Ends long answers, finishes short ones, stops publishing. Broker and store stay open. */
  readonly close: () => Promise<void>;
}

/** One replica: HTTP for callers, gRPC for workers, outbox and janitor over one ledger. */
export async function startFront(options: FrontOptions): Promise<Front> {
  const { config, log } = options;
  const database = options.database ?? (await openDatabase({ ...config, log }));
  const closers = createClosers();
  if (options.database === undefined) closers.add(database.close);
  try {
    return { ...(await startParts(options, database, closers)), close: () => closers.close() };
  } catch (error) {
    await closers.close();
    throw error;
  }
}

async function startParts(
  options: FrontOptions,
  database: Database,
  closers: Closers,
): Promise<Omit<Front, "close">> {
  const { config, broker, store, log, tracer = UNTRACED } = options;
  const models = withAliases(options.models, parseModelAliases(config));
  const now = (): number => performance.now();
  const concurrencyOf = (id: string) => models.find((model) => model.id === id)?.concurrency ?? 1;
  const paces = createPaceNotes({ db: database, concurrencyOf, log });
  closers.add(paces.close);
  const secret = await readSharedSecret(database, FENCING_SECRET, randomBytes);
  const fencing = createFencing({ secret, acceptUnsealed: config.acceptUnsigned });
  const streams = createLiveStreams({
    findLease: async (lease) => await findOwnLease(database, lease),
    now,
  });
  const limits = createLimits(database);
  closers.add(limits.close);
  const workers = watchWorkers(
    createReportHandlers({
      database,
      store,
      streams,
      sent: createSentReader({ database, store, log }),
      fencing,
      wakeOutbox: () => outbox.wake(),
      noteRun: paces.note,
      limits,
      tracer,
    }),
    now,
  );
  const { handlers } = workers;
  const keys = createKeys({ database, defaults: projectDefaults(config), randomBytes });
  const notifications = await createJobNotifications(database);
  closers.add(notifications.close);
  const reportServer = await openReportServer(options, { handlers, tracer });
  const reportTo = config.grpcAdvertise ?? `${advertised(config.host)}:${reportServer.port}`;
  const outbox = createOutbox({ database, broker, reportTo, concurrencyOf, log });
  closers.add(outbox.close);
  closers.add(() => reportServer.close());
  const presence = await keepFrontPresence({ database, grpcAddress: reportTo, log, now });
  closers.add(presence.leave);
  const modalities = listModalities();
  const shared = { database, broker, store, outbox, log };
  const janitor = await startJanitor({
    ...shared,
    republishAll: config.amqpUrl === undefined,
    modalities: modalities.map(({ name }) => name),
    liveModalities: modalities.flatMap(({ name, endpoint }) => (endpoint.isLive ? [name] : [])),
    retentionDays: config.retentionDays,
    maySayGone: presence.maySayGone,
  });
  const webhooks = startWebhooks({
    database,
    notifications,
    allowPrivate: config.webhookAllowPrivate,
    objectOf: (name) => findModality(name)?.endpoint.object ?? name,
    log,
  });
  closers.add(webhooks.stop);
  closers.add(janitor.stop);
  const estimates = createEstimates({ db: database, concurrencyOf });
  const scaler = await openScaler(options, estimates, database);
  if (scaler !== undefined) closers.add(() => scaler.close());
  const watch = watchParts(shared);
  closers.add(watch.stop);
  const metrics = createMetrics(database, estimates, watch.states, config);
  const metricsServer = await openMetrics(config, metrics, log);
  if (metricsServer !== undefined) closers.add(() => metricsServer.close());

  checkTiers(models);
  const judge = modalities.find((modality) => modality.judge !== undefined);
  checkJudge(config.moderationModel, judge, models);
  const run: RunJudge = async (by, body) => {
    if (judge === undefined) throw new JobError("server_error", "no modality judges prompts");
    return await runInternal(replies, { ...by, modality: judge, body });
  };
  const submitJob = createSubmitJob({
    ...shared,
    models,
    prices: await readPriceTable(config.pricesFile),
    tracer,
    replyTimeoutMs: config.replyTimeoutMs,
    allowPrivateWebhooks: config.webhookAllowPrivate,
    checkContent: createContentCheck({ model: config.moderationModel, judge, run }),
  });
  const replies: RepliesOptions = {
    database,
    store,
    notifications,
    streams,
    links: await createFileLinks({ database, randomBytes, clock: Date.now }),
    limits,
    submitJob,
    cancelAtWorker: (jobId) => reportServer.cancel(jobId),
  };
  const closing = new AbortController();
  // Every open answer listens.
  setMaxListeners(0, closing.signal);
  const longBodies = createLongBodies();
  const look = createLookAtJob(database);
  const watches = createWatchLimit(config.watchesPerProject);
  const { links } = replies;
  const shownBy = { database, store, notifications, look, watches, links, now };
  const live = createLiveClips({ ...shownBy, closing: closing.signal });
  const routes: RoutesOptions = {
    database,
    store,
    notifications,
    look,
    watches,
    live,
    estimates,
    models,
    longBodies,
    submitJob,
    replies,
    publicUrl: config.publicUrl,
    randomBytes,
    closing: closing.signal,
    now,
  };
  const app = await createServer({
    authenticate:
      options.onlyCaller === undefined
        ? limitFailures(keys.authenticate)
        : admitPrograms(await options.onlyCaller({ keys, database })),
    trustProxy: config.trustProxy,
    corsOrigins: config.corsOrigins ?? [],
    limits,
    defaultAllowances: {
      requests: fullAllowance(config.requestsPerMinute),
      tokens: fullAllowance(config.tokensPerMinute),
    },
    observeRequest: metrics.observeRequest,
    tracer,
    log,
    ...(await readTls(config)),
    randomBytes,
    now,
    addRoutes(guarded) {
      addCommonRoutes(guarded, routes);
      for (const modality of modalities) {
        const add = isPolled(modality) ? addJobRoutes : addReplyRoutes;
        add(guarded, modality, routes);
      }
    },
    addOpenRoutes(open) {
      const findOwnObstacle = () => (options.hasOwnWorker ? workers.findObstacle() : undefined);
      const findObstacles = createReadiness(database, findOwnObstacle);
      const hasMetrics = config.metricsPort === undefined && isLoopback(config);
      addOpenRoutes(open, {
        modalities,
        findObstacles,
        partStates: watch.states,
        ...(hasMetrics && { metrics }),
      });
      addFileRoute(open, replies);
      addLiveRoutes(open, live);
    },
  });
  const hangUpUnused = watchUnused(app);
  app.addHook("preClose", async () => {
    closing.abort();
    hangUpUnused();
  });
  app.addHook("onClose", async () => await longBodies.close());
  closers.add(async () => await closeApp(app));
  const parts = { keys, database, handlers };
  await options.addPages?.(app, parts);
  const { host } = config;
  const address = { host, port: config.port, orFree: mayMove(options, "port"), setting: "PORT" };
  await listenAt(address, async (port) => await app.listen({ host, port }));
  const origin = originOf(app, config);
  return {
    ...parts,
    baseUrl: `${origin}/v1`,
    origin,
    port: Number(new URL(origin).port),
    grpcPort: reportServer.port,
    connect: reportServer.connect,
    scalerPort: scaler?.port,
    metricsPort: metricsServer?.port,
    grpcAddress: `${reachable(host)}:${reportServer.port}`,
  };
}

/** Whether another port will do where this one is taken: no setting names it, nor advertises it. */
function mayMove({ config, hasOwnWorker = false }: FrontOptions, field: "port" | "grpcPort") {
  const isAdvertised = field === "grpcPort" && config.grpcAdvertise !== undefined;
  return hasOwnWorker && !config.given.has(field) && !isAdvertised;
}

const IDLE_CHECK_MS = 250;

/** A connection whose last answer has been given would keep the server for as long as callers like. */
async function closeApp(app: FastifyInstance): Promise<void> {
  const closing = setInterval(() => app.server.closeIdleConnections(), IDLE_CHECK_MS);
  try {
    await app.close();
  } finally {
    clearInterval(closing);
  }
}

/** A job of the service's own in the middle of a caller's request; resolves to its output. */
async function runInternal(replies: RepliesOptions, submission: Submission): Promise<unknown> {
  const id = createJobId(submission.modality, randomBytes);
  const { path } = submission.modality.endpoint;
  const own = {
    ...submission,
    id,
    path,
    background: undefined,
    idempotencyKey: null,
    isFree: true,
  };
  const deadline = new AbortController();
  const unjudged = new JobError("service_unavailable", "The prompt could not be judged in time.");
  const timer = setTimeout(() => deadline.abort(unjudged), JUDGE_MS).unref();
  const running = await startReply(replies, own, { origin: "", signal: deadline.signal });
  try {
    return (await running.exchange.finished()).output;
  } finally {
    clearTimeout(timer);
    await running.close();
  }
}

function checkJudge(
  id: string | undefined,
  judge: Modality | undefined,
  models: readonly ModelInfo[],
): void {
  if (id === undefined) return;
  if (models.some((model) => model.id === id && model.modality === judge?.name)) return;
  throw new Error(`MODERATION_MODEL names ${id}, which is no moderation model of this front`);
}

/** Limits of a project that has none of its own. */
export function projectDefaults({ requestsPerMinute, tokensPerMinute }: Config) {
  return { requestsPerMinute, tokensPerMinute, monthlyLimitMicroUsd: null, weight: 1 };
}

async function openReportServer(
  options: FrontOptions,
  served: Pick<ReportServerOptions, "handlers" | "tracer">,
): Promise<ReportServer> {
  const { config } = options;
  const caFile = config.tlsCertFile === undefined ? undefined : config.tlsCaFile;
  const tls = await readTlsFiles({ ...serverFiles(config), caFile });
  const { host, grpcPort: port, workerToken: token } = config;
  if (token === undefined)
    throw new Error("a front needs WORKER_TOKEN: gRPC is served to its holders");
  const orFree = mayMove(options, "grpcPort");
  return await startReportServer({ ...served, host, port, orFree, token, tls });
}

async function openScaler(
  { config, log }: FrontOptions,
  { outstanding: readOutstanding }: Estimates,
  database: Database,
): Promise<ScalerServer | undefined> {
  const { host, scalerPort: port, maxGpuDollarsPerHour } = config;
  if (port === undefined) return undefined;
  return await startScalerServer({
    host,
    port,
    tls: await readTlsFiles(serverFiles(config)),
    readOutstanding,
    async allowWorkers(trigger, wanted) {
      if (maxGpuDollarsPerHour === undefined) return wanted.workers;
      const ceiling = maxGpuDollarsPerHour * 1e9;
      const workers = await grantWorkers(database, trigger, wanted, ceiling);
      if (workers < wanted.workers)
        log.warn(
          { models: trigger.models, wanted: wanted.workers, workers, maxGpuDollarsPerHour },
          "the scaler asks for fewer workers than the queue needs: MAX_GPU_DOLLARS_PER_HOUR",
        );
      return workers;
    },
  });
}

async function openMetrics(
  { host, metricsPort: port }: Config,
  metrics: Metrics,
  log: Logger,
): Promise<PagesServer | undefined> {
  if (port === undefined) return undefined;
  const { contentType, render } = metrics;
  return await servePages({
    host,
    port,
    setting: "METRICS_PORT",
    pages: { "/metrics": async () => ({ contentType, body: await render() }) },
    onError: (error) => log.warn({ err: error }, "metrics not rendered"),
  });
}

function serverFiles({ tlsCertFile: certFile, tlsKeyFile: keyFile }: Config) {
  return { certFile, keyFile };
}

async function readTls({ tlsCertFile, tlsKeyFile }: Config) {
  if (tlsCertFile === undefined || tlsKeyFile === undefined) return {};
  const [cert, key] = await Promise.all([readFile(tlsCertFile), readFile(tlsKeyFile)]);
  return { tls: { cert, key } };
}

/** What workers elsewhere can call when the server listens on every address of this machine. */
function advertised(host: string): string {
  if (host !== "0.0.0.0" && host !== "::") return reachable(host);
  const addresses = Object.values(networkInterfaces()).flatMap((known) => known ?? []);
  const outward = addresses.find(({ family, internal }) => family === "IPv4" && !internal);
  return outward?.address ?? reachable(host);
}

/** An address to call when the server listens on all of them. */
function reachable(host: string): string {
  if (host === "0.0.0.0" || host === "::") return "127.0.0.1";
  return host.includes(":") ? `[${host}]` : host;
}

function originOf(app: FastifyInstance, { host, tlsCertFile }: Config): string {
  const address = app.server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  return `${tlsCertFile === undefined ? "http" : "https"}://${reachable(host)}:${port}`;
}

/** Three announcements missed, in milliseconds. */
const ABSENT_MS = 15_000;
/** Also of a worker that takes some jobs only while its store is away. */
const SERVING: ReadonlySet<WorkerStatus["state"]> = new Set(["ready", "busy", "unready"]);

/** Listens to the announcements that reach this process, for one that is of no use without a worker. */
interface WorkerWatch {
  readonly handlers: ReportHandlers;
  /** Why no job would be taken now, if so. */
  findObstacle(): string | undefined;
}

/** `now`: monotonic milliseconds. */
function watchWorkers(handlers: ReportHandlers, now: () => number): WorkerWatch {
  const seen = new Map<string, { readonly state: WorkerStatus["state"]; readonly atMs: number }>();
  return {
    handlers: {
      ...handlers,
      async announce(status) {
        const orders = await handlers.announce(status);
        seen.set(status.workerId, { state: status.state, atMs: now() });
        return orders;
      },
    },
    findObstacle() {
      const states = [...seen.values()]
        .filter(({ atMs }) => now() - atMs < ABSENT_MS)
        .map(({ state }) => state);
      if (states.some((state) => SERVING.has(state))) return undefined;
      return `worker: ${states.at(-1) ?? "none has reported"}`;
    },
  };
}
