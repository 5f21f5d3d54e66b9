import { randomBytes } from "node:crypto";
import { userInfo } from "node:os";
import { z } from "zod";
import type { Config } from "../../config.js";
import { findAdminKey, findRunningFront, findWorkerToken } from "../data-folder.js";
import { type ActionsQuery, createKeys, openDatabase } from "../../front/ledger/index.js";
import { projectDefaults } from "../../front/front.js";
import {
  createOperations,
  type InvoicesQuery,
  type JobsQuery,
  type Operations,
  type UsageQuery,
} from "../../front/operations/index.js";
import {
  type Broker,
  createMessageSigner,
  type DeadLetters,
  openBroker,
} from "../../queue/index.js";
import { createLog } from "../log.js";

/**
 * Operates on the shared database where one is configured; else on the running embedded front, whose
 * database only it may open; else on the embedded database itself.
 */
export async function withOperations<T>(
  config: Config,
  use: (operations: Operations) => Promise<T>,
): Promise<T> {
  const running = config.databaseUrl === undefined && (await findRunningFront(config.dataDir));
  if (running) return use(await remoteOperations(running.baseUrl, config));
  const log = createLog({ logLevel: "error" }, "framemill");
  const { databaseUrl, dataDir } = config;
  const database = await openDatabase({ databaseUrl, dataDir, log });
  const aside = openDeadLetters(config);
  try {
    const keys = createKeys({ database, defaults: projectDefaults(config), randomBytes });
    const operations = createOperations(database, keys, aside.deadLetters);
    return await use(operations.as({ name: `cli:${systemUser()}`, address: null }));
  } finally {
    await aside.close();
    await database.close();
  }
}

/** A container's user may have a number only. */
function systemUser(): string {
  try {
    return userInfo().username;
  } catch {
    return String(process.getuid?.() ?? "unknown");
  }
}

/** The broker's, which is opened when somebody asks for them. */
function openDeadLetters(config: Config) {
  let opening: Promise<Broker> | undefined;
  const open = async (): Promise<DeadLetters> => {
    opening ??= openWithToken(config);
    return (await opening).deadLetters;
  };
  const deadLetters: DeadLetters = {
    list: async (limit) => (await open()).list(limit),
    replay: async (id) => (await open()).replay(id),
    drop: async (id) => (await open()).drop(id),
  };
  return { deadLetters, close: async () => await (await opening)?.close() };
}

/** Without the fronts' token every message looks like a stranger's. */
async function openWithToken(config: Config): Promise<Broker> {
  const { amqpUrl, acceptUnsigned } = config;
  const secret = await findWorkerToken(config);
  if (secret === undefined)
    throw new Error("WORKER_TOKEN is not set, and DATA_DIR has none: messages cannot be verified");
  const signer = createMessageSigner({ secret, acceptUnsigned });
  return await openBroker({ amqpUrl, signer, name: "framemill" });
}

async function remoteOperations(baseUrl: string, config: Config): Promise<Operations> {
  const adminKey = await findAdminKey(config);
  async function call<T>(method: string, path: string, body?: object): Promise<T> {
    const response = await fetch(new URL(`/admin${path}`, baseUrl), {
      method,
      headers: {
        authorization: `Bearer ${adminKey}`,
        ...(body !== undefined && { "content-type": "application/json" }),
      },
      body: body === undefined ? null : JSON.stringify(body),
    });
    if (!response.ok) throw new Error(await reasonOf(response, `${method} /admin${path}`));
    // The front that answers is of this very version: both ends share the type.
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion
    return (await response.json()) as T;
  }
  const at = encodeURIComponent;
  return {
    listJobs: (query) => call("GET", `/jobs?${toSearch(query)}`),
    getJob: (id) => call("GET", `/jobs/${at(id)}`),
    async cancelJob(id) {
      return (await call<{ cancelled: boolean }>("POST", `/jobs/${at(id)}/cancel`, {})).cancelled;
    },
    retryJob: (id) => call("POST", `/jobs/${at(id)}/retry`, {}),
    listQueues: () => call("GET", "/queues"),
    summariseUsage: (query) => call("GET", `/usage?${toSearch(query)}`),
    readMargins: (query) => call("GET", `/margins?${toSearch(query)}`),
    readInvoices: (query) => call("GET", `/invoices?${toSearch(query)}`),
    deadLetters: {
      list: (limit) => call("GET", `/dead-letters?limit=${limit}`),
      async replay(id) {
        const path = `/dead-letters/${at(id)}/replay`;
        return (await call<{ replayed: boolean }>("POST", path, {})).replayed;
      },
      async drop(id) {
        return (await call<{ dropped: boolean }>("DELETE", `/dead-letters/${at(id)}`)).dropped;
      },
    },
    listKeys: () => call("GET", "/keys"),
    createKey: (project, name) => call("POST", "/keys", { project, name }),
    revokeKey: (keyId) => call("DELETE", `/keys/${at(keyId)}`),
    listProjects: () => call("GET", "/projects"),
    setProject: (name, limits) => call("PUT", `/projects/${at(name)}`, limits),
    webhookSecret: (name, renew) => call("POST", `/projects/${at(name)}/webhook-secret`, { renew }),
    findErasure: (project) => call("GET", `/projects/${at(project)}/erasure`),
    eraseProject: (id) => call("POST", `/projects/${at(id)}/erasure`, { confirm: id }),
    listActions: (query) => call("GET", `/audit?${toSearch(query)}`),
    readOverview: () => call("GET", "/overview"),
    listFronts: () => call("GET", "/fronts"),
    listWorkers: () => call("GET", "/workers"),
    drainWorker: (workerId, drain) => call("POST", `/workers/${at(workerId)}/drain`, { drain }),
  };
}

function toSearch(query: JobsQuery | UsageQuery | InvoicesQuery | ActionsQuery): string {
  const fields = Object.entries(query).map(([name, value]): [string, string] => [
    name,
    String(value),
  ]);
  return new URLSearchParams(fields).toString();
}

const errorBody = z.object({ error: z.object({ message: z.string() }) });

/** The front's own sentence where it gives one. */
async function reasonOf(response: Response, call: string): Promise<string> {
  const body = errorBody.safeParse(await response.json().catch(() => null));
  return body.data?.error.message ?? `${call} answered ${response.status}`;
}
