import pRetry from "p-retry";
import { isLocalFault, JobError, toJobError } from "../core/errors.js";
import type { ArtifactStore } from "../storage/index.js";
import type { Attempt } from "./attempt.js";
import type { WorkerDeps } from "./worker-deps.js";

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
