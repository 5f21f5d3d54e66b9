import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Config } from "../config.js";
import type { AdminKey } from "../front/operations/index.js";
import { ensureSecret } from "./dev-file.js";

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

function keyPath(dataDir: string): string {
  return join(dataDir, "admin.key");
}
