import { randomBytes } from "node:crypto";
import { chmod, link, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { z } from "zod";
import { systemCodeOf } from "../core/errors.js";
import { makePrivateFolder } from "../storage/index.js";
import type { Config } from "../config.js";
import type { AdminKey } from "../front/operations/index.js";

const devFile = z.object({ baseUrl: z.string(), apiKey: z.string() });

/** A running front (its address includes `/v1`) and a key to it: what `up` leaves in its data folder. */
export type Endpoint = z.infer<typeof devFile>;

const ownerOnly = 0o600;
/** A busy front takes its time; one that has gone refuses at once. */
const ANSWER_MS = 15_000;

export async function writeDevFile(dataDir: string, content: Endpoint): Promise<void> {
  await writeSecret(devPath(dataDir), `${JSON.stringify(content, null, 2)}\n`);
}

/** What the last `up` on this folder wrote; its front may be gone. */
export async function readDevFile(dataDir: string): Promise<Endpoint | undefined> {
  const text = await readFile(devPath(dataDir), "utf8").catch(() => undefined);
  return text === undefined ? undefined : devFile.parse(JSON.parse(text));
}

/** The file's content when the front it names answers. */
export async function findRunningFront(dataDir: string): Promise<Endpoint | undefined> {
  const content = await readDevFile(dataDir);
  if (content === undefined) return undefined;
  const health = new URL("/healthz", content.baseUrl);
  const answer = await fetch(health, { signal: AbortSignal.timeout(ANSWER_MS) }).catch(
    () => undefined,
  );
  return answer?.ok ? content : undefined;
}

/** The secret in a file, made where there is none: once, however many processes ask. */
export async function ensureSecret(
  path: string,
  make: () => string | Promise<string> = () => randomBytes(32).toString("base64url"),
): Promise<string> {
  const known = await readFile(path, "utf8").catch(() => undefined);
  if (known !== undefined) return known;
  const own = `${path}.${process.pid}`;
  await writeSecret(own, await make());
  try {
    // Unlike a rename it fails where another process was first.
    await link(own, path);
  } catch (thrown) {
    if (systemCodeOf(thrown) !== "EEXIST") throw thrown;
  } finally {
    await rm(own, { force: true });
  }
  return await readFile(path, "utf8");
}

/** Secrets in the data folder are for its owner's eyes only. */
async function writeSecret(path: string, text: string): Promise<void> {
  await makePrivateFolder(dirname(path), "DATA_DIR");
  await writeFile(path, text, { mode: ownerOnly });
  await chmod(path, ownerOnly);
}

function devPath(dataDir: string): string {
  return join(dataDir, "dev.json");
}

/** ADMIN_KEY and those of ADMIN_KEYS, by name. */
export function adminKeysOf({
  adminKey,
  adminKeys = "",
}: Pick<Config, "adminKey" | "adminKeys">): AdminKey[] {
  const named = adminKeys.split(",").filter(Boolean);
  return [
    ...(adminKey === undefined ? [] : [{ name: "admin", key: adminKey }]),
    ...named.map((pair) => {
      const at = pair.indexOf("=");
      return { name: pair.slice(0, at), key: pair.slice(at + 1) };
    }),
  ];
}

type AdminConfig = Pick<Config, "adminKey" | "dataDir">;

/** The key of the admin routes: ADMIN_KEY, or the one an embedded front left in its data folder. */
export async function findAdminKey({
  adminKey,
  dataDir,
}: AdminConfig): Promise<string | undefined> {
  if (adminKey !== undefined) return adminKey;
  return readFile(keyPath(dataDir), "utf8").catch(() => undefined);
}

/** As `findAdminKey`, and makes one where there is none. */
export async function ensureAdminKey(config: AdminConfig): Promise<string> {
  return config.adminKey ?? (await ensureSecret(keyPath(config.dataDir)));
}

/** Where its operator finds the key of the admin routes. */
export function adminKeyPlace({ adminKey, dataDir }: AdminConfig): string {
  return adminKey === undefined ? keyPath(dataDir) : "ADMIN_KEY";
}

function keyPath(dataDir: string): string {
  return join(dataDir, "admin.key");
}

/** A configuration whose worker token is known. */
export type SharedConfig = Config & { readonly workerToken: string };

/**
 * WORKER_TOKEN, or the one in the data folder, which the first of a machine's processes makes:
 * front and worker that share the folder need no setting.
 */
export async function withWorkerToken(config: Config): Promise<SharedConfig> {
  const workerToken = config.workerToken ?? (await ensureSecret(tokenPath(config)));
  return { ...config, workerToken };
}

/** As `withWorkerToken`, and makes none: undefined where there is none. */
export async function findWorkerToken(config: Config): Promise<string | undefined> {
  return config.workerToken ?? (await readFile(tokenPath(config), "utf8").catch(() => undefined));
}

function tokenPath({ dataDir }: Config): string {
  return join(dataDir, "worker.token");
}
