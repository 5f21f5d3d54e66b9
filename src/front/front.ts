import { randomBytes } from "node:crypto";
import { readFile } from "node:fs/promises";
import type { FastifyInstance } from "fastify";
import type { Logger } from "pino";
import type { Config } from "../config.js";
import type { ModelInfo } from "../core/modality.js";
import { listModalities } from "../modalities/index.js";
import type { Broker } from "../queue/broker.js";
import { startReportServer, type ReportServer } from "../rpc/report-server.js";
import { readTlsFiles } from "../rpc/tls.js";
import type { ArtifactStore } from "../storage/artifact-store.js";
import { createChanges } from "./changes.js";
import { openDatabase, type Database } from "./database.js";
import { createEstimates } from "./estimates.js";
import { createReadiness } from "./health.js";
import { startJanitor } from "./janitor.js";
import { createKeys, type Keys } from "./keys.js";
import { createLimits, fullAllowance } from "./limits.js";
import { createMetrics } from "./metrics.js";
import { addOpenRoutes } from "./open-routes.js";
import { createOutbox } from "./outbox.js";
import { createReportHandlers, type ReportHandlers } from "./reports.js";
import { addJobRoutes, addModelRoutes } from "./routes.js";
import { createServer } from "./server.js";
import { createSubmitJob } from "./submit-job.js";

export interface FrontOptions {
  readonly config: Config;
  readonly broker: Broker;
  readonly store: ArtifactStore;
  readonly models: readonly ModelInfo[];
  readonly log: Logger;
  /** An open database, closed by its owner; absent = opened from the configuration. */
  readonly database?: Database;
  /** Adds routes that need no API key (pages, the dashboard), before the server listens. */
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
  /** Ends long answers, finishes short ones, stops publishing. Broker and store stay open. */
  readonly close: () => Promise<void>;
}

/** One replica: HTTP for callers, gRPC for workers, outbox and janitor over one ledger. */
export async function startFront(options: FrontOptions): Promise<Front> {
  const { config, log } = options;
  const database = options.database ?? (await openDatabase({ ...config, log }));
  const closers: (() => Promise<void>)[] = [];
  if (options.database === undefined) closers.push(database.close);
  const close = async (): Promise<void> => {
    for (const closer of closers.splice(0).toReversed()) await closer();
  };
  try {
    return { ...(await startParts(options, database, closers)), close };
  } catch (error) {
    await close();
    throw error;
  }
}

async function startParts(
  options: FrontOptions,
  database: Database,
  closers: (() => Promise<void>)[],
): Promise<Omit<Front, "close">> {
  const { config, broker, store, log } = options;
  const handlers = createReportHandlers({ database, store });
  const keys = createKeys({ database, defaults: projectDefaults(config), randomBytes });
  const changes = await createChanges(database);
  closers.push(changes.close);
  const reportServer = await openReportServer(config, handlers);
  const reportTo = config.grpcAdvertise ?? `${reachable(config.host)}:${reportServer.port}`;
  const outbox = createOutbox({ database, broker, reportTo, log });
  closers.push(outbox.close);
  const republishAll = config.amqpUrl === undefined;
  const janitor = await startJanitor({ database, broker, store, outbox, log, republishAll });
  closers.push(janitor.stop, () => reportServer.close());
  const parts = { keys, database, handlers };
  const app = await createApp(options, parts, { changes, outbox });
  closers.push(async () => await app.close());
  await options.addPages?.(app, parts);
  await app.listen({ host: config.host, port: config.port });
  const origin = originOf(app, config);
  const baseUrl = `${origin}/v1`;
  const port = Number(new URL(origin).port);
  return { ...parts, baseUrl, origin, port, grpcPort: reportServer.port };
}

type Shared = {
  readonly changes: Awaited<ReturnType<typeof createChanges>>;
  readonly outbox: ReturnType<typeof createOutbox>;
};

async function createApp(
  options: FrontOptions,
  { keys, database }: FrontParts,
  { changes, outbox }: Shared,
): Promise<FastifyInstance> {
  const { config, broker, store, models, log } = options;
  const now = (): number => performance.now();
  const closing = new AbortController();
  const estimates = createEstimates({ kysely: database.kysely, now });
  const submitJob = createSubmitJob({ database, broker, store, outbox, models, randomBytes });
  const routes = { database, store, changes, estimates, models, submitJob, now };
  const metrics = createMetrics(database);
  const findObstacles = createReadiness({ database, broker, store });
  const modalities = listModalities();
  const app = await createServer({
    keys,
    limits: createLimits(database),
    defaultAllowances: {
      requests: fullAllowance(config.requestsPerMinute),
      tokens: fullAllowance(config.tokensPerMinute),
    },
    metrics,
    log,
    ...(await readTls(config)),
    randomBytes,
    now,
    addRoutes(guarded) {
      addModelRoutes(guarded, models);
      for (const modality of modalities.filter(({ endpoint }) => endpoint.delivery === "poll"))
        addJobRoutes(guarded, modality, { ...routes, closing: closing.signal });
    },
    addOpenRoutes: (open) => addOpenRoutes(open, { modalities, metrics, findObstacles }),
  });
  app.addHook("preClose", async () => closing.abort());
  return app;
}

/** Limits of a project that has none of its own. */
export function projectDefaults({ requestsPerMinute, tokensPerMinute }: Config) {
  return { requestsPerMinute, tokensPerMinute, monthlyLimitMicroUsd: null };
}

async function openReportServer(config: Config, handlers: ReportHandlers): Promise<ReportServer> {
  const tls = await readTlsFiles({
    certFile: config.tlsCertFile,
    keyFile: config.tlsKeyFile,
    caFile: config.tlsCertFile === undefined ? undefined : config.tlsCaFile,
  });
  const { host, grpcPort: port, workerToken: token } = config;
  return await startReportServer({ handlers, host, port, token, tls });
}

async function readTls({ tlsCertFile, tlsKeyFile }: Config) {
  if (tlsCertFile === undefined || tlsKeyFile === undefined) return {};
  const [cert, key] = await Promise.all([readFile(tlsCertFile), readFile(tlsKeyFile)]);
  return { tls: { cert, key } };
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
