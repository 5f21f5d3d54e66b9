import type { Config } from "../config.js";
import { addAdminRoutes } from "../front/admin.js";
import { type Front, startFront } from "../front/front.js";
import { createOperations } from "../front/operations.js";
import { addWebPages } from "../front/web-pages.js";
import { traceBroker } from "../queue/traced-broker.js";
import type { Worker } from "../worker/worker.js";
import { ensureAdminKey } from "./admin-key.js";
import { type Endpoint, readDevFile } from "./dev-file.js";
import { createLog, type Log } from "./log.js";
import { openParts, type Parts, runWorker } from "./parts.js";
import { traceService } from "./tracing.js";
import { type SharedConfig, withWorkerToken } from "./worker-token.js";

/** Front and worker in one process, with inference in its child. */
export interface Stack {
  /** Base address and a key of the project `default`. */
  readonly endpoint: Endpoint;
  readonly front: Front;
  readonly worker: Worker;
  close(): Promise<void>;
}

/**
 * Starts everything, in the order in which each part needs the one before. `watch` sees
 * the parts before anybody uses them, for measurements.
 */
export async function startStack(given: Config, watch?: (parts: Parts) => void): Promise<Stack> {
  const config = await withWorkerToken(given);
  const log = createLog(config, "framemill");
  const closers: (() => Promise<void>)[] = [];
  const close = async () => {
    for (const closer of closers.splice(0).toReversed()) await closer();
  };
  try {
    const parts = await openParts(config, log);
    watch?.(parts);
    closers.push(() => parts.close());
    const front = await runFront({ ...config, adminKey: await ensureAdminKey(config) }, parts, log);
    closers.push(() => front.close());
    const worker = await runWorker(config, parts, log, `127.0.0.1:${front.grpcPort}`);
    closers.push(() => worker.stop());
    const apiKey = await developmentKey(config, front);
    return { endpoint: { baseUrl: front.baseUrl, apiKey }, front, worker, close };
  } catch (thrown) {
    await close();
    throw thrown;
  }
}

/** The key that dev.json names while it is good, else a new one of the project `default`. */
async function developmentKey({ dataDir }: Config, { database, keys }: Front): Promise<string> {
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
): Promise<Front> {
  const tracing = await traceService(config, "framemill-front", log);
  const front = await startFront({
    config,
    broker: traceBroker(broker, tracing.tracer),
    store,
    models,
    log,
    tracer: tracing.tracer,
    async addPages(app, { database, keys }) {
      await addWebPages(app, log);
      if (config.adminKey === undefined) return;
      const operations = createOperations(database, keys, broker.deadLetters);
      addAdminRoutes(app, operations, config.adminKey);
    },
  });
  return {
    ...front,
    async close() {
      await front.close();
      await tracing.close();
    },
  };
}
