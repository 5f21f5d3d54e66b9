import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type Config, longestJobMs, parseProviderOptions } from "../config.js";
import { JobError, messageOf, toJobError } from "../core/errors.js";
import type { Job } from "../core/job.js";
import { isPolled, type ModelInfo } from "../core/modality.js";
import { type ArtifactStore, makePrivateFolder, openArtifactStore } from "../storage/index.js";
import type { Tracer, TraceSettings, Tracing } from "../core/tracing.js";
import {
  listModelPackages,
  modelInfo,
  type ModelPackage,
} from "../runtime/packages/model-package.js";
import { createInferenceProcesses } from "../runtime/process/device-processes.js";
import type { InferenceSetup } from "../runtime/process/protocol.js";
import { findModality, listModalities } from "../modalities/registry.js";
import { parentDeathPrefix } from "../media/process-group.js";
import {
  type Broker,
  type BrokerEvent,
  createMessageSigner,
  openBroker,
  traceBroker,
} from "../queue/index.js";
import {
  createReporter,
  createReporters,
  type GrpcReporter,
  type ReportServer,
  readTlsFiles,
  type TlsOptions,
} from "../rpc/index.js";
import {
  createMarker,
  makeDevelopmentSigner,
  type Marker,
  readSigner,
  type Signer,
} from "../provenance/index.js";
import {
  createDirectives,
  type Directives,
  startWorker,
  type Worker,
  type WorkerOptions,
} from "../worker/index.js";
import { openTracing } from "../tracing/index.js";
import { type Log, createLog, logWarnings } from "./log.js";
import { ensureSecret, type SharedConfig, withWorkerToken } from "./data-folder.js";
import { VERSION } from "./version.js";
import { runUntilShutdown } from "./shutdown.js";

/** What front and worker share when they live in one process. */
export interface Parts {
  readonly packages: readonly ModelPackage[];
  readonly models: readonly ModelInfo[];
  readonly broker: Broker;
  readonly store: ArtifactStore;
  close(): Promise<void>;
}

/** Opens the queue, the store and the list of models that the configuration names. */
export async function openParts(config: SharedConfig, log: Log): Promise<Parts> {
  await makePrivateFolder(config.dataDir, "DATA_DIR");
  const packages = await chosenPackages(config);
  const models = await Promise.all(packages.map(modelInfo));
  const store = await openArtifactStore(config);
  const broker = await openBroker({
    amqpUrl: config.amqpUrl,
    signer: createMessageSigner({
      secret: config.workerToken,
      acceptUnsigned: config.acceptUnsigned,
    }),
    name: config.workerId,
    onEvent: (event) => logBrokerEvent(log, event),
  });
  return {
    packages,
    models,
    broker,
    store,
    async close() {
      await broker.close();
      await store.close();
    },
  };
}

const CANCEL_MS = 4_000;

interface RunWorkerOptions extends Pick<WorkerOptions, "startedAtMs" | "signal"> {
  /** Where it reports to, `host:port`. */
  readonly frontAddress: string;
  /** The way to that front where it is of this process; nobody else looks for the worker's ports then. */
  readonly connect?: ReportServer["connect"];
}

export async function runWorker(
  config: SharedConfig,
  parts: Parts,
  log: Log,
  { frontAddress, connect, ...start }: RunWorkerOptions,
): Promise<Worker> {
  const { stallMs, memoryBytes } = config;
  const tracing = await traceService(config, "framemill-worker", log);
  const { tracer } = tracing;
  const directives = createDirectives();
  const isOwnFront = connect !== undefined;
  const tls = await readReporterTls(config, isOwnFront);
  const openReporter = reporterOpener(config, tls, directives, tracer);
  const reporter =
    connect?.((...order) => directives.deliver(...order)) ?? openReporter(frontAddress);
  const others = createReporters(openReporter);
  // A caller hears the pieces of an answer from the front that took the request.
  const streamOf = (reportTo: string | undefined) =>
    reportTo === undefined || reportTo === frontAddress ? reporter : others.at(reportTo);
  const adoption = isOwnFront ? undefined : await adoptionOf(config);
  const inference = createInferenceProcesses({
    devices: config.devices?.map(Number),
    kindOf: kindOfJob(parts.models),
    entryPath: fileURLToPath(new URL("./inference-process.js", import.meta.url)),
    prefix: parentDeathPrefix(),
    setup: inferenceSetup(config, parts),
    stallMs,
    ...(memoryBytes !== undefined && { allowance: memoryBytes }),
    ...(adoption && { adoption }),
    cancelMs: CANCEL_MS,
    onBroken() {
      log.error({}, "the device failed three times in ten minutes, leaving");
      process.exitCode = 1;
      process.kill(process.pid, "SIGTERM");
    },
    log,
  });
  const marker = await openMarker(config, parts, log);
  const { workerId, scratchDir, drainMs, host, workerPort } = config;
  const deviceCount = config.devices?.length ?? 1;
  const worker = await startWorker({
    ...parts,
    models: parts.models.map((model) => onDevices(model, deviceCount)),
    broker: traceBroker(parts.broker, tracer),
    workerId,
    slots: config.slots * deviceCount,
    nanoUsdPerHour: Math.round(config.gpuDollarsPerHour * 1e9),
    scratchDir,
    spoolDir: join(config.dataDir, "spool"),
    jobTimeoutMs: longestJobMs(config),
    drainMs,
    health: { host, port: workerPort, orFree: isOwnFront && !config.given.has("workerPort") },
    reporter,
    streamOf,
    announce: (status) => reporter.announce(status).catch(explainRefusal(frontAddress)),
    async closeReporters() {
      await Promise.all([reporter.close(), others.close()]);
    },
    directives,
    inference,
    ...(marker && { marker }),
    findModality,
    modalities: listModalities(),
    tracer,
    log,
    ...start,
  }).catch(async (thrown: unknown) => {
    await tracing.close();
    throw thrown;
  });
  return {
    healthPort: worker.healthPort,
    get state() {
      return worker.state;
    },
    async stop() {
      await worker.stop();
      await tracing.close();
    },
  };
}

/** A model that batches takes as many jobs for each device; the others share the slots. */
function onDevices(model: ModelInfo, count: number): ModelInfo {
  const { concurrency } = model;
  return { ...model, concurrency: concurrency > 1 ? count * concurrency : concurrency };
}

/** Jobs of one kind compete for a device: those of a model that batches, else those that are polled, or are not. */
function kindOfJob(models: readonly ModelInfo[]): (job: Job) => string {
  const batching = new Set(models.filter((one) => one.concurrency > 1).map(({ id }) => id));
  return ({ model, modality: name }) => {
    if (batching.has(model)) return model;
    const modality = findModality(name);
    return modality !== undefined && isPolled(modality) ? "polled" : "replied";
  };
}

/** Says what to do about a token that is not the front's. */
function explainRefusal(frontAddress: string) {
  return (thrown: unknown): never => {
    if (toJobError(thrown).code !== "invalid_api_key") throw thrown;
    const message = `the front at ${frontAddress} refuses this worker's token: give both the same WORKER_TOKEN, or on one machine the same DATA_DIR`;
    throw new JobError("invalid_api_key", message, { cause: thrown });
  };
}

async function readReporterTls(config: Config, isOwnFront: boolean) {
  return await readTlsFiles({
    certFile: config.workerCertFile,
    keyFile: config.workerKeyFile,
    caFile: config.tlsCaFile,
    ...(isOwnFront && { peerCertFile: config.tlsCertFile }),
  });
}

/** What opens the way to a front, as the configuration secures it. */
function reporterOpener(
  { workerToken: token, tlsServerName: serverName }: SharedConfig,
  tls: TlsOptions | undefined,
  directives: Directives,
  tracer: Tracer,
): (address: string) => GrpcReporter {
  return (address) =>
    createReporter({
      address,
      token,
      tls,
      serverName,
      onDirective: (lease, directive) => directives.deliver(lease, directive),
      tracer,
    });
}

/** Where inference processes wait for the next worker, where they are to. */
async function adoptionOf({ dataDir, adoptMs: waitMs }: Config) {
  if (waitMs === 0) return undefined;
  const folder = join(dataDir, "inference");
  await makePrivateFolder(folder, "DATA_DIR");
  return { folder, waitMs };
}

function inferenceSetup(config: Config, { packages }: Parts): InferenceSetup {
  const { threads, slots, providers, ffmpegPath, ffprobePath, espeakPath } = config;
  const { warmUp, cacheDir, modelMemoryBytes, modelIdleMs, promptCacheBytes, maxHostShare } =
    config;
  return {
    modelPaths: packages.map(({ path }) => path),
    threads,
    slots,
    providers,
    providerOptions: parseProviderOptions(config),
    maxHostShare,
    ffmpegPath,
    ffprobePath,
    espeakPath,
    warmUp,
    cacheDir,
    promptCacheBytes,
    isLive: config.livePlayback,
    traces: traceSettings(config),
    ...(modelMemoryBytes !== undefined && { modelMemoryBytes }),
    ...(modelIdleMs !== undefined && { modelIdleMs }),
  };
}

/** Kinds of models whose files are marked. */
const MEDIA_MODALITIES = new Set(["video", "image", "speech", "music"]);

async function openMarker(
  config: Config,
  { models }: Parts,
  log: Log,
): Promise<Marker | undefined> {
  const makesMedia = models.some(({ modality }) => MEDIA_MODALITIES.has(modality));
  if (!config.provenance || !makesMedia) return undefined;
  const marker = createMarker(await openSigner(config, log), VERSION);
  // The first file waits for what is not ready, and says what is wrong with it.
  marker.prepare().catch(() => {});
  return marker;
}

/** So long before its end a certificate should be renewed. */
const RENEWAL_MS = 14 * 86_400_000;

function warnOfEnd(signer: Signer, log: Log): Signer {
  const expiresAt = new Date(signer.expiresAtMs).toISOString();
  if (signer.expiresAtMs - Date.now() < RENEWAL_MS)
    log.warn({ expiresAt }, "the certificate of PROVENANCE_CERTIFICATE_FILE expires soon");
  return signer;
}

/** The operator's, or one that the data folder keeps. */
async function openSigner(config: Config, log: Log): Promise<Signer> {
  const { provenanceKeyFile: keyPath, provenanceCertificateFile: certificatePath } = config;
  if (keyPath !== undefined && certificatePath !== undefined)
    return warnOfEnd(await readSigner({ keyPath, certificatePath }), log);
  const path = join(config.dataDir, "provenance.pem");
  await ensureSecret(path, makeDevelopmentSigner);
  log.info(
    { path },
    "media are signed with a certificate of their own making, whose signer no reader knows: PROVENANCE_KEY_FILE",
  );
  return await readSigner({ keyPath: path, certificatePath: path });
}

function logBrokerEvent(log: Log, { type, ...event }: BrokerEvent): void {
  if (!("cause" in event)) return log.info({ event: type, ...event }, "broker");
  const { cause, ...rest } = event;
  log.warn({ event: type, ...rest, reason: messageOf(cause) }, "broker");
}

async function chosenPackages({ modelsDir, models }: Config): Promise<ModelPackage[]> {
  const packages = await listModelPackages(modelsDir);
  const missing = models?.find((id) => !packages.some((model) => model.id === id));
  if (missing !== undefined)
    throw new Error(`MODELS names ${missing}, which ${modelsDir} does not hold`);
  const chosen = packages.filter(({ id }) => models === undefined || models.includes(id));
  if (chosen.length === 0) throw new Error(`${modelsDir} holds no model package`);
  return chosen;
}

/** Where the configuration sends spans. */
function traceSettings(config: Config): TraceSettings {
  return {
    endpoint: config.otelExporterOtlpEndpoint,
    headers: config.otelExporterOtlpHeaders,
    file: config.tracesFile,
    ratio: config.otelTracesSamplerArg,
  };
}

/** Traces of one part of the service; nothing where the configuration names no place for them. */
export async function traceService(config: Config, service: string, log: Log): Promise<Tracing> {
  return await openTracing(traceSettings(config), {
    service,
    instance: config.workerId,
    onFailure: (reason) => log.warn({ reason }, "traces not exported"),
  });
}

interface ServeWorkerOptions extends Pick<RunWorkerOptions, "startedAtMs"> {
  readonly onReady?: () => void;
}

/** Takes jobs from the queue until SIGTERM. Needs a real broker: an in-process one has no front. */
export async function serveWorker(
  config: Config,
  { onReady, ...options }: ServeWorkerOptions = {},
): Promise<void> {
  if (config.amqpUrl === undefined) {
    throw new Error(
      "a worker needs AMQP_URL; `framemill up` runs front and worker together without one",
    );
  }
  const log = createLog(config, "framemill-worker");
  logWarnings(log);
  await runUntilShutdown(async (closers, signal) => {
    const shared = await withWorkerToken(config);
    const parts = await openParts(shared, log);
    closers.add(() => parts.close());
    const { frontAddress } = shared;
    const running = await runWorker(shared, parts, log, { frontAddress, ...options, signal });
    closers.add(() => running.stop());
    onReady?.();
  });
}
