import { createHash } from "node:crypto";
import { type Artifact, attemptFolder } from "../core/artifact.js";
import { reasonOf } from "../core/errors.js";
import type { Lease } from "../core/job.js";
import { type StoreUse, whenStoreIsThere } from "./store-outages.js";
import type { WorkerDeps } from "./worker-deps.js";

/** Longest upload of a checkpoint by a worker that must leave, in milliseconds. */
const KEEP_MS = 2_000;

/** A checkpoint in the scratch folder, once there is one. */
export interface Saved {
  path: string | undefined;
}

type Deps = Pick<WorkerDeps, "store" | "log">;

/** The bytes that an earlier attempt saved; undefined where they are gone or are not what was saved. */
export async function readCheckpoint(
  running: StoreUse & { readonly checkpoint: Artifact | null; readonly deps: Deps },
): Promise<Uint8Array | undefined> {
  if (running.checkpoint === null) return undefined;
  const { id, sha256 } = running.checkpoint;
  try {
    const bytes = await whenStoreIsThere(running, (store) => store.readBytes(id));
    if (createHash("sha256").update(bytes).digest("hex") === sha256) return bytes;
    throw new Error("its SHA-256 is another");
  } catch (thrown) {
    running.deps.log.warn(
      { checkpoint: id, reason: reasonOf(thrown) },
      "checkpoint not usable, starting over",
    );
    return undefined;
  }
}

/** Puts what was saved where the next worker finds it; without it that one starts over. */
export async function keepCheckpoint(
  { jobId, attempt }: Lease,
  { path }: Saved,
  { store, log }: Deps,
): Promise<Artifact | null> {
  if (path === undefined) return null;
  const id = `${attemptFolder(jobId, attempt)}checkpoint.bin`;
  const label = { id, variant: "checkpoint", mediaType: "application/octet-stream" };
  try {
    return await store.putFile(label, path, AbortSignal.timeout(KEEP_MS));
  } catch (thrown) {
    log.warn({ jobId, reason: reasonOf(thrown) }, "checkpoint not kept");
    return null;
  }
}
