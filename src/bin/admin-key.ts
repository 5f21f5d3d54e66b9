import { randomBytes } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Config } from "../config.js";
import { writeSecret } from "./dev-file.js";

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
  const known = await findAdminKey(config);
  if (known !== undefined) return known;
  const made = randomBytes(32).toString("base64url");
  await writeSecret(keyPath(config.dataDir), made);
  return made;
}

function keyPath(dataDir: string): string {
  return join(dataDir, "admin.key");
}
