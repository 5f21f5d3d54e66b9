import { randomBytes } from "node:crypto";
import type { Config } from "../../config.js";
import { findAdminKey } from "../admin-key.js";
import { openDatabase } from "../../front/database.js";
import { projectDefaults } from "../../front/front.js";
import { createKeys } from "../../front/keys.js";
import { createOperations, type Operations } from "../../front/operations.js";
import { createLog } from "../log.js";
import { findRunningFront } from "../dev-file.js";

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
  try {
    const keys = createKeys({ database, defaults: projectDefaults(config), randomBytes });
    return await use(createOperations(database, keys));
  } finally {
    await database.close();
  }
}

async function remoteOperations(baseUrl: string, config: Config): Promise<Operations> {
  const adminKey = await findAdminKey(config);
  async function call<T>(method: string, path: string, body?: object): Promise<T> {
    const response = await fetch(new URL(`/admin${path}`, baseUrl), {
      method,
      headers: { authorization: `Bearer ${adminKey}`, "content-type": "application/json" },
      body: body === undefined ? null : JSON.stringify(body),
    });
    if (!response.ok) throw new Error(`${method} /admin${path} answered ${response.status}`);
    // The front that answers is of this very version: both ends share the type.
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion
    return (await response.json()) as T;
  }
  return {
    listJobs: (limit) => call("GET", `/jobs?limit=${limit}`),
    listKeys: () => call("GET", "/keys"),
    createKey: (project, name) => call("POST", "/keys", { project, name }),
    revokeKey: (keyId) => call("DELETE", `/keys/${encodeURIComponent(keyId)}`),
    listProjects: () => call("GET", "/projects"),
    setProject: (name, limits) => call("PUT", `/projects/${encodeURIComponent(name)}`, limits),
    webhookSecret: (name, renew) =>
      call("POST", `/projects/${encodeURIComponent(name)}/webhook-secret`, { renew }),
    listWorkers: () => call("GET", "/workers"),
    drainWorker: (workerId, drain) =>
      call("POST", `/workers/${encodeURIComponent(workerId)}/drain`, { drain }),
  };
}
