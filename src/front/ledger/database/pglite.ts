import { rmSync } from "node:fs";
import { readFile, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { PGlite, types } from "@electric-sql/pglite";
import { createMutex } from "../../../core/async/mutex.js";
import { systemCodeOf } from "../../../core/errors.js";
import { isProcessAlive } from "../../../core/processes.js";
import { makePrivateFolder, makePrivateInside } from "../../../storage/index.js";
import { createDb } from "./sql.js";

/** A ledger inside this process, in a folder that no other process may have. */
export async function openPGlite(dataDir: string) {
  const folder = join(dataDir, "database");
  for (const path of [dataDir, folder]) await makePrivateFolder(path, "DATA_DIR");
  const unlock = await lockFolder(dataDir);
  const pglite = await PGlite.create(folder, { parsers: { [types.INT8]: Number } });
  // It makes its first files for everybody to read and write, whatever the umask says.
  const { mode } = await stat(join(folder, "PG_VERSION"));
  if ((mode & 0o077) !== 0) await makePrivateInside(folder);
  // One session: a statement of another caller would land inside an open transaction.
  const mutex = createMutex();
  const db = createDb(async () => {
    const release = await mutex.enter();
    return { query: async (text, values) => await pglite.query(text, [...values]), release };
  });
  return {
    ...db,
    engine: "pglite" as const,
    listen: async (channel: string, onPayload: (payload: string) => void) => {
      const unlisten = await pglite.listen(channel, onPayload);
      return async (): Promise<void> => await unlisten();
    },
    async close(): Promise<void> {
      await pglite.close();
      await unlock();
    },
  };
}

/**
 * Keeps a folder for this process: two would spoil the database in it. The error names
 * the process that has it; one that is gone, or had this very id before a restart, is passed over.
 */
async function lockFolder(folder: string): Promise<() => Promise<void>> {
  const path = join(folder, "owner.pid");
  const removeNow = () => rmSync(path, { force: true });
  const release = async () => {
    process.off("exit", removeNow);
    await rm(path, { force: true });
  };
  try {
    await writeFile(path, String(process.pid), { flag: "wx" });
    process.once("exit", removeNow);
    return release;
  } catch (thrown) {
    if (systemCodeOf(thrown) !== "EEXIST") throw thrown;
  }
  const owner = Number(await readFile(path, "utf8"));
  if (owner !== process.pid && isProcessAlive(owner)) {
    throw new Error(`${folder} is in use by process ${owner}: stop it, or choose another DATA_DIR`);
  }
  await writeFile(path, String(process.pid));
  process.once("exit", removeNow);
  return release;
}
