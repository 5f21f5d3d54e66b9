import { randomUUID } from "node:crypto";
import { mkdir, open, rm } from "node:fs/promises";
import { join } from "node:path";
import { type JobError, reasonOf } from "../core/errors.js";
import type { ArtifactStore } from "../storage/index.js";
import type { Log } from "./log.js";

/** What a worker needs besides its models, and why it takes no jobs without it. */
export interface Obstacles {
  /** This machine: its folders can be written. */
  readonly machine?: string;
  readonly store?: string;
}

/** Whether this worker can do what its jobs need. Nothing that is wrong here is held against a job. */
export interface Fitness {
  readonly obstacles: Obstacles;
  /** An attempt met a fault that may be the machine's or the store's: the part is looked at. */
  met(fault: JobError): void;
  /** An attempt went well: what the machine had before is over. */
  succeeded(): void;
  close(): void;
}

export interface FitnessOptions {
  readonly store: Pick<ArtifactStore, "probe">;
  /** Folders that attempts write to. */
  readonly folders: readonly string[];
  readonly onChange: () => void;
  readonly log: Log;
}

/** Between looks while nothing is known to be wrong. */
const LOOK_MS = 60_000;
/** Between looks at what is wrong: doubled each time, up to the longest. */
const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 30_000;
/** More than a note: a disk with less room than that fits no job's files. */
const PROBE_BYTES = 1_048_576;

/** Looks at the store once a minute, and at what is wrong at growing pauses. */
export function createFitness({ store, folders, onChange, log }: FitnessOptions): Fitness {
  const obstacles: { machine?: string; store?: string } = {};
  // Faults of the machine since an attempt went well; looks since one found nothing wrong.
  let [faults, looks] = [0, 0];
  let next: NodeJS.Timeout | undefined;
  let isClosed = false;
  const set = (part: keyof Obstacles, reason: string | undefined): void => {
    if ((obstacles[part] === undefined) !== (reason === undefined))
      if (reason === undefined) log.info({ part }, "fit again");
      else log.error({ part, reason }, "unready");
    const before = obstacles[part];
    if (reason === undefined) delete obstacles[part];
    else obstacles[part] = reason;
    if ((before === undefined) !== (reason === undefined)) onChange();
  };
  const look = async (): Promise<void> => {
    const [machine, kept] = await Promise.all([
      obstacles.machine === undefined ? undefined : whyNot(Promise.all(folders.map(tryFolder))),
      whyNot(store.probe()),
    ]);
    if (isClosed) return;
    set("machine", machine);
    set("store", kept);
    const isWell = machine === undefined && kept === undefined;
    looks = isWell ? 0 : looks + 1;
    lookIn(isWell ? LOOK_MS : pauseAfter(looks));
  };
  const lookIn = (pauseMs: number): void => {
    clearTimeout(next);
    if (!isClosed) next = setTimeout(() => void look(), pauseMs).unref();
  };
  lookIn(LOOK_MS);
  return {
    obstacles,
    met(fault) {
      if (fault.code === "store_unavailable" && obstacles.store === undefined) lookIn(0);
      if (fault.code !== "worker_fault") return;
      // Believed at once: a look may find room that the next job has not.
      faults += 1;
      set("machine", reasonOf(fault));
      lookIn(pauseAfter(faults));
    },
    succeeded: () => void (faults = 0),
    close() {
      isClosed = true;
      clearTimeout(next);
    },
  };
}

function pauseAfter(times: number): number {
  return Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** (times - 1));
}

async function whyNot(trial: Promise<unknown>): Promise<string | undefined> {
  return await trial.then(() => undefined, reasonOf);
}

/** Writes and removes a file; rejects with what the system says. */
async function tryFolder(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  const path = join(folder, `.probe-${randomUUID()}`);
  const file = await open(path, "wx", 0o600);
  try {
    await file.writeFile(Buffer.alloc(PROBE_BYTES));
    await file.sync();
  } finally {
    await file.close();
    await rm(path, { force: true });
  }
}
