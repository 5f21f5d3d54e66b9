import { rmSync } from "node:fs";
import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { isProcessAlive } from "../../../core/processes.js";

/**
 * Keeps a folder for this process: two would spoil the database in it. Throws a sentence that names
 * the process that has it; one that is gone, or had this very id before a restart, is passed over.
 */
export async function lockFolder(folder: string): Promise<() => Promise<void>> {
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
    if (!(thrown instanceof Error && "code" in thrown && thrown.code === "EEXIST")) throw thrown;
  }
  const owner = Number(await readFile(path, "utf8"));
  if (owner !== process.pid && isProcessAlive(owner)) {
    throw new Error(`${folder} is in use by process ${owner}: stop it, or choose another DATA_DIR`);
  }
  await writeFile(path, String(process.pid));
  process.once("exit", removeNow);
  return release;
}
