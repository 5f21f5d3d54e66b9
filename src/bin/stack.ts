import { type Config, isLoopback } from "../config.js";
import { createClosers } from "../core/closers.js";
import { messageOf } from "../core/errors.js";
import type { Caller } from "../front/ledger/index.js";
import { addAdminRoutes, createOperations } from "../front/operations/index.js";
import { type Front, type FrontOptions, startFront } from "../front/front.js";
import { addWebPages } from "../front/http/index.js";
import { requireFfmpeg } from "../media/ffmpeg.js";
import { traceBroker } from "../queue/index.js";
import type { Worker } from "../worker/index.js";
import {
  adminKeyPlace,
  ensureAdminKey,
  adminKeysOf,
  type Endpoint,
  readDevFile,
  type SharedConfig,
  withWorkerToken,
  writeDevFile,
} from "./data-folder.js";
import { createLog, type Log, logWarnings } from "./log.js";
import { openParts, type Parts, runWorker, traceService } from "./parts.js";
import { runUntilShutdown } from "./shutdown.js";
import { startWatchdog } from "./watchdog.js";

/** Front and worker in one process, with inference in its child. */
export interface Stack {
  /** Base address and a key of the project `default`. */
  readonly endpoint: Endpoint;
  readonly front: Front;
  readonly worker: Worker;
  close(): Promise<void>;
}

export interface StackOptions {
  /** Sees the parts before anybody uses them, for measurements. */
  readonly watch?: ((parts: Parts) => void) | undefined;
  /** No keys, no limits of rate or spending, for programs on this machine alone. */
  readonly isUnlimited?: boolean;
  /** Gives up the start: everything is closed, then its reason thrown. */
  readonly signal?: AbortSignal;
}

/** A laptop has other uses for its memory. */
const MODEL_IDLE_MS = 300_000;

/** Starts everything, in the order in which each part needs the one before. */
export async function startStack(given: Config, options: StackOptions = {}): Promise<Stack> {
  const { watch, signal, isUnlimited = false } = options;
  refuseOwnWorker(given);
  if (isUnlimited) refuseOthers(given);
  const { modelIdleMs = MODEL_IDLE_MS } = given;
  const config = { ...(await withWorkerToken(given)), modelIdleMs };
  const log = createLog(config, "framemill");
  logWarnings(log);
  const closers = createClosers();
  try {
    log.info({ dataDir: config.dataDir }, "opening queue and files");
    const parts = await openParts(config, log);
    closers.add(() => parts.close());
    signal?.throwIfAborted();
    watch?.(parts);
    log.info("opening the database");
    const adminKey = await ensureAdminKey(config);
    let key: Promise<string> | undefined;
    const keyOf = (ledger: LedgerParts) => (key ??= developmentKey(config, ledger));
    const onlyCaller = async (ledger: LedgerParts) => {
      log.warn("NO LIMITS: every program on this machine is served, without a key and at any rate");
      return await unlimitedCaller(ledger, await keyOf(ledger));
    };
    const front = await runFront({ ...config, adminKey }, parts, log, {
      hasOwnWorker: true,
      ...(isUnlimited && { onlyCaller }),
    });
    closers.add(() => front.close());
    signal?.throwIfAborted();
    log.info({ baseUrl: front.baseUrl }, "front ready");
    log.info({ models: parts.models.length }, "loading the models");
    const worker = await runWorker(config, parts, log, {
      frontAddress: front.grpcAddress,
      connect: front.connect,
      ...(signal && { signal }),
    });
    closers.add(() => worker.stop());
    const apiKey = await keyOf(front);
    signal?.throwIfAborted();
    return {
      endpoint: { baseUrl: front.baseUrl, apiKey },
      front,
      worker,
      close: () => closers.close(),
    };
  } catch (thrown) {
    await closers.close();
    throw thrown;
  }
}

/** A front that asks workers for certificates asks its own worker, too. */
function refuseOwnWorker({ tlsCertFile, tlsCaFile, workerCertFile }: Config): void {
  if (tlsCertFile === undefined || tlsCaFile === undefined || workerCertFile !== undefined) return;
  throw new Error(
    `TLS_CA_FILE ${tlsCaFile} makes the front ask workers for certificates: set WORKER_CERT_FILE and WORKER_KEY_FILE for the worker of this process, or use WORKER_TOKEN instead of TLS_CA_FILE`,
  );
}

/** Who needs no key must not be able to come from elsewhere. */
function refuseOthers(config: Config): void {
  if (isLoopback(config)) return;
  throw new Error(
    `--no-limits serves whoever reaches it, without a key: HOST must be 127.0.0.1, ::1 or localhost, got ${config.host}`,
  );
}

/** A minute's requests or tokens that nobody uses up. */
const UNREACHED = Number.MAX_SAFE_INTEGER;

type LedgerParts = Pick<Front, "database" | "keys">;

/** The project `default` without its limits, for this process alone: the ledger keeps them. */
async function unlimitedCaller({ keys }: LedgerParts, key: string): Promise<Caller> {
  const { apiKeyId, project } = await keys.authenticate(`Bearer ${key}`);
  const limits = {
    requestsPerMinute: UNREACHED,
    tokensPerMinute: UNREACHED,
    monthlyLimitMicroUsd: null,
  };
  return { apiKeyId, project: { ...project, ...limits } };
}

/** The key that dev.json names while it is good, else a new one of the project `default`. */
async function developmentKey(
  { dataDir }: Config,
  { database, keys }: LedgerParts,
): Promise<string> {
  const known = (await readDevFile(dataDir))?.apiKey;
  if (known !== undefined) {
    const caller = await keys.authenticate(`Bearer ${known}`).catch(() => undefined);
    if (caller !== undefined) return known;
  }
  const { key } = await createOperations(database, keys).createKey("default", "dev");
  return key;
}

/** The front, with the admin routes where there is an admin key. */
export async function runFront(
  config: SharedConfig,
  { broker, store, models }: Parts,
  log: Log,
  options: Pick<FrontOptions, "hasOwnWorker" | "onlyCaller"> = {},
): Promise<Front> {
  const tracing = await traceService(config, "framemill-front", log);
  const front = await startFront({
    ...options,
    config,
    broker: traceBroker(broker, tracing.tracer),
    store,
    models,
    log,
    tracer: tracing.tracer,
    async addPages(app, { database, keys }) {
      await addWebPages(app, log);
      const adminKeys = adminKeysOf(config);
      if (adminKeys.length === 0) return;
      const operations = createOperations(database, keys, broker.deadLetters, log);
      addAdminRoutes(app, operations, adminKeys);
    },
  }).catch(async (thrown: unknown) => {
    await tracing.close();
    throw thrown;
  });
  return {
    ...front,
    async close() {
      await front.close();
      await tracing.close();
    },
  };
}

/** The HTTP API and the workers' gRPC endpoint until SIGTERM. */
export async function serveFront(config: Config): Promise<void> {
  const log = createLog(config, "framemill-front");
  logWarnings(log);
  await runUntilShutdown(async (closers, signal) => {
    const shared = await withWorkerToken(config);
    const parts = await openParts(shared, log);
    closers.add(() => parts.close());
    signal.throwIfAborted();
    const { baseUrl, grpcPort, scalerPort, close } = await runFront(shared, parts, log);
    closers.add(close);
    signal.throwIfAborted();
    closers.add(startWatchdog(config.watchdogMs, "framemill-front"));
    log.info({ baseUrl, grpcPort, scalerPort }, "front ready");
  });
}

/**
 * Front and worker until SIGTERM; the pages' addresses, base address and key are printed, the last two
 * left in dev.json, which keeps the key for the next time.
 */
export async function serveStack(
  config: Config,
  { isUnlimited = false }: Pick<StackOptions, "isUnlimited"> = {},
): Promise<void> {
  await runUntilShutdown(async (closers, shutdown) => {
    const stack = await startStack(config, { signal: shutdown, isUnlimited });
    closers.add(() => stack.close());
    closers.add(startWatchdog(config.watchdogMs, "framemill"));
    const { baseUrl, apiKey } = stack.endpoint;
    await writeDevFile(config.dataDir, { baseUrl, apiKey });
    const { origin, port, grpcPort } = stack.front;
    const moved = [
      ...movedPort("PORT", config.port, port),
      ...movedPort("GRPC_PORT", config.grpcPort, grpcPort),
      ...movedPort("WORKER_PORT", config.workerPort, stack.worker.healthPort),
    ];
    const lines = [
      isUnlimited
        ? "limits           none, and no keys: programs on this machine are served, web pages are not"
        : // Behind the #, where no server and no log sees it; the page takes it out of the address.
          `playground       ${origin}/playground#key=${apiKey}`,
      `operations       ${origin}/operations (its key: ${adminKeyPlace(config)})`,
      `base address     ${baseUrl}`,
      `development key  ${apiKey}`,
      ...moved,
    ];
    // A line apart from those of the log, which on a terminal come before and after.
    const space = process.stdout.isTTY ? "\n" : "";
    process.stdout.write(`${space}${lines.join("\n")}\n${space}`);
    shutdown.addEventListener("abort", sayStopping);
    await requireFfmpeg(config).catch((thrown: unknown) => {
      process.stderr.write(`framemill: ${messageOf(thrown)}\n`);
    });
  });
}

/** On a terminal: finishing what runs may take a while. */
function sayStopping(): void {
  if (process.stderr.isTTY)
    process.stderr.write("\nStopping: what runs is finished. Ctrl-C again ends at once.\n");
}

function movedPort(setting: string, asked: number, port: number): string[] {
  const isMoved = asked !== 0 && asked !== port;
  return isMoved ? [`${setting.padEnd(17)}${port}, since ${asked} is taken`] : [];
}
