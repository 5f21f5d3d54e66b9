import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Config } from "../config.js";
import { ensureSecret } from "./dev-file.js";

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
