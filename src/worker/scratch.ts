import { existsSync } from "node:fs";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { JobError } from "../core/errors.js";
import { makePrivateFolder } from "../storage/index.js";
import { isProcessAlive } from "../core/processes.js";

/** Folders of unfinished files: one a process, one an attempt below it. Nothing survives its owner. */
export interface Scratch {
  /** Runs with the path of an attempt's folder, which the first writer makes; removes it however the run ends. */
  use<T>(jobId: string, run: (path: string) => Promise<T>): Promise<T>;
  close(): Promise<void>;
}

/** Opens this process's folder and removes those of workers that are gone; `onKept` is called for a folder that could not be removed. */
export async function openScratch(
  root: string,
  onKept: (path: string, reason: unknown) => void = () => {},
): Promise<Scratch> {
  await makePrivateFolder(root, "SCRATCH_DIR");
  await sweep(root);
  const own = resolve(await mkdtemp(join(root, `${process.pid}-`)));
  let attempts = 0;
  return {
    async use(jobId, run) {
      const path = resolve(own, `${jobId}-${++attempts}`);
      // It is removed at the end: a name must not lead elsewhere.
      if (dirname(path) !== own)
        throw new JobError("invalid_value", `job id ${jobId} is no name of a folder`);
      try {
        return await run(path);
      } finally {
        if (existsSync(path))
          await removeFolder(path).catch((thrown: unknown) => onKept(path, thrown));
      }
    },
    close: () => removeFolder(own),
  };
}

async function sweep(root: string): Promise<void> {
  for (const name of await readdir(root)) {
    const owner = /^(\d+)-/.exec(name)?.[1];
    if (owner !== undefined && !isProcessAlive(Number(owner))) await removeFolder(join(root, name));
  }
}

/** A killed writer may add one more file while its folder goes, hence the retries. */
function removeFolder(path: string): Promise<void> {
  return rm(path, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
}
