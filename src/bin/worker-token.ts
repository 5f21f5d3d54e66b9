import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Config } from "../config.js";
import { createMessageSigner, type MessageSigner } from "../queue/index.js";
import { ensureSecret } from "./dev-file.js";

/** A configuration whose worker token is known. */
export type SharedConfig = Config & { readonly workerToken: string };

/**
 * WORKER_TOKEN, or the one in the data folder, which the first of a machine's processes makes:
 * front and worker that share the folder need not be told.
 */
export async function withWorkerToken(config: Config): Promise<SharedConfig> {
  const workerToken = config.workerToken ?? (await ensureSecret(tokenPath(config)));
  return { ...config, workerToken };
}

/** As `withWorkerToken`, and makes none: undefined where there is none. */
export async function findWorkerToken(config: Config): Promise<string | undefined> {
  return config.workerToken ?? (await readFile(tokenPath(config), "utf8").catch(() => undefined));
}

/** What signs the queue's messages, as the configuration says. */
export function signerOf({ workerToken, acceptUnsigned }: SharedConfig): MessageSigner {
  return createMessageSigner({ secret: workerToken, acceptUnsigned });
}

function tokenPath({ dataDir }: Config): string {
  return join(dataDir, "worker.token");
}
