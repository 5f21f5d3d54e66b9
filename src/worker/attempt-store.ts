import { createHash } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import pRetry from "p-retry";
import {
  type Artifact,
  attemptFolder,
  LIVE_HEAD,
  liveFolder,
  previewFolder,
} from "../core/artifact.js";
import type { LivePiece } from "../core/events.js";
import { isLocalFault, JobError, reasonOf, toJobError } from "../core/errors.js";
import type { Lease } from "../core/job.js";
import type { ArtifactStore } from "../storage/index.js";
import type { Attempt, WorkerDeps } from "./attempt.js";

/** What a network file system says when its server is away: errno(3). */
const AWAY = /^(EIO|ESTALE|ETIMEDOUT|ENOTCONN|EHOSTDOWN|EHOSTUNREACH|EREMOTEIO)$/;

/** Who uses the store. */
export interface StoreUse {
  readonly attempt: Pick<Attempt, "signal" | "waitFor">;
  readonly deps: Pick<WorkerDeps, "store" | "fitness">;
}

/**
 * Does something with the artifact store, again and again while it is away: an outage is nobody's fault,
 * and what was made must not be made twice. It is waited for as long as the attempt may last.
 */
export async function whenStoreIsThere<T>(
  { attempt, deps: { store, fitness } }: StoreUse,
  work: (store: ArtifactStore) => Promise<T>,
): Promise<T> {
  let endWaiting = (): void => {};
  const trying = async () =>
    await work(store).catch((thrown: unknown) => {
      throw toStoreFault(thrown);
    });
  try {
    return await pRetry(trying, {
      signal: attempt.signal,
      retries: Number.MAX_SAFE_INTEGER,
      minTimeout: 500,
      maxTimeout: 5_000,
      randomize: true,
      shouldRetry({ error }) {
        const fault = toJobError(error);
        if (fault.code !== "store_unavailable") return false;
        fitness.met(fault);
        endWaiting();
        endWaiting = attempt.waitFor(fault);
        return true;
      },
    });
  } finally {
    endWaiting();
  }
}

/** What using the store failed with, as the attempt's failure: its outage, the machine's fault, or another. */
function toStoreFault(thrown: unknown): JobError {
  if (isLocalFault(thrown)) return toJobError(thrown instanceof JobError ? thrown.cause : thrown);
  const error = toJobError(thrown);
  if (error.code !== "service_unavailable" && !isAway(thrown)) return error;
  return new JobError("store_unavailable", "The artifact store cannot be used.", { cause: thrown });
}

function isAway(thrown: unknown): boolean {
  return thrown instanceof Error && "code" in thrown && AWAY.test(String(thrown.code));
}

/** Longest upload of a checkpoint by a worker that must leave, in milliseconds, and by one that stays. */
const LAST_KEEP_MS = 2_000;
const KEEP_MS = 30_000;

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
  { store, log, preempted }: Deps & Pick<WorkerDeps, "preempted">,
): Promise<Artifact | null> {
  if (path === undefined) return null;
  const id = `${attemptFolder(jobId, attempt)}checkpoint.bin`;
  const label = { id, variant: "checkpoint", mediaType: "application/octet-stream" };
  try {
    const mostMs = preempted.aborted ? LAST_KEEP_MS : KEEP_MS;
    return await store.putFile(label, path, AbortSignal.timeout(mostMs));
  } catch (thrown) {
    log.warn({ jobId, reason: reasonOf(thrown) }, "checkpoint not kept");
    return null;
  }
}

/** What is shown of an attempt while it runs. A picture that cannot be shown disturbs nothing. */
export interface Previews {
  /** Shows a picture (WebP) as soon as the one before is on its way no more. */
  show(bytes: Uint8Array): void;
  /** Takes what was shown away, without being waited for. */
  end(): void;
}

export function createPreviews(
  { jobId, attempt }: Lease,
  { store, log }: Pick<WorkerDeps, "store" | "log">,
): Previews {
  const folder = previewFolder(jobId, attempt);
  const label = { id: `${folder}newest.webp`, variant: "preview", mediaType: "image/webp" };
  let waiting: Uint8Array | undefined;
  let sending: Promise<void> | undefined;
  const send = async (): Promise<void> => {
    for (let bytes = waiting; bytes !== undefined; bytes = waiting) {
      waiting = undefined;
      await store.putBytes(label, bytes);
    }
  };
  const warn = (thrown: unknown) =>
    log.warn({ jobId, reason: reasonOf(thrown) }, "preview not shown");
  let wasShown = false;
  return {
    show(bytes) {
      waiting = bytes;
      wasShown = true;
      sending ??= send()
        .catch(warn)
        .finally(() => (sending = undefined));
    },
    end() {
      waiting = undefined;
      if (!wasShown) return;
      const removed = (sending ?? Promise.resolve()).then(() => store.removeAll(folder));
      void removed.catch(warn);
    },
  };
}

/** Most bytes of pieces that wait for the store: some minutes of a clip. */
const MOST_WAITING_BYTES = 32 * 1_024 * 1_024;
/** How long a finished clip waits for its last pieces, in milliseconds. */
const LAST_PIECES_MS = 1_000;

/** A clip in the making, where its viewers find it. What the store does not take disturbs nothing but them. */
export interface LivePieces {
  /** Stores a piece behind those before; `onStored` is called when it can be read. */
  store(piece: LivePiece, onStored: () => void): void;
  /** Waits a short while for what is on its way. */
  finish(): Promise<void>;
  /** Forgets what is not stored yet. */
  end(): void;
}

export function createLivePieces(
  { jobId, attempt }: Lease,
  { store, log }: Pick<WorkerDeps, "store" | "log">,
): LivePieces {
  const folder = liveFolder(jobId, attempt);
  let waiting: { readonly piece: LivePiece; readonly onStored: () => void }[] = [];
  let sending: Promise<void> | undefined;
  let isGivenUp = false;
  const giveUp = (thrown: unknown): void => {
    log.warn({ jobId, reason: reasonOf(thrown) }, "clip not shown while it is made");
    isGivenUp = true;
    waiting = [];
  };
  const send = async (): Promise<void> => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      const { bytes, startMs, endMs } = next.piece;
      const name = endMs === 0 ? LIVE_HEAD : `${startMs}-${endMs}.m4s`;
      await store.putBytes(
        { id: `${folder}${name}`, variant: "live", mediaType: "video/mp4" },
        bytes,
      );
      next.onStored();
    }
  };
  return {
    store(piece, onStored) {
      if (isGivenUp) return;
      waiting.push({ piece, onStored });
      const waitingBytes = waiting.reduce((sum, { piece: { bytes } }) => sum + bytes.byteLength, 0);
      if (waitingBytes > MOST_WAITING_BYTES) giveUp(new Error("the store is slower than the clip"));
      sending ??= send()
        .catch(giveUp)
        .finally(() => (sending = undefined));
    },
    async finish() {
      if (sending === undefined) return;
      const over = new AbortController();
      const late = sleep(LAST_PIECES_MS, true, { signal: over.signal }).catch(() => false);
      const isLate = await Promise.race([sending, late]);
      over.abort();
      if (isLate === true) giveUp(new Error("its last pieces are not stored yet"));
    },
    end() {
      waiting = [];
    },
  };
}
