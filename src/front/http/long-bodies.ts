import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";
import pLimit, { type LimitFunction } from "p-limit";
import { Piscina } from "piscina";
import { JobError } from "../../core/errors.js";
import { fromFailure, type JobFailure } from "../../core/job.js";
import type { Modality, ModelInfo } from "../../core/modality.js";
import { MAX_SHORT_BYTES } from "./bodies.js";
import type { ReadBody } from "./read-body.js";

/** Bodies of one project that may wait. */
const MAX_WAITING = 64;
/** They leave a core to the event loop, where there is another. */
const MAX_THREADS = Math.min(2, Math.max(1, availableParallelism() - 1));
/** Longest wait for a thread and its work, in milliseconds. */
const DEADLINE_MS = 10_000;
const MAX_HEAP_MB = 256;

export interface LongBody {
  readonly pieces: readonly Uint8Array[];
  readonly modality: Modality;
  readonly path: string;
  readonly models: readonly ModelInfo[];
  readonly maxValues: number | undefined;
  readonly isHashed: boolean;
}

/** What crosses to the thread. */
export interface ThreadTask extends Omit<LongBody, "modality"> {
  readonly modality: string;
}

export type ThreadAnswer = { readonly read: ReadBody } | { readonly refusal: JobFailure };

/** Reads long JSON in threads that give way to the event loop; of each project one at a time. */
export interface LongBodies {
  read(body: LongBody, projectId: string): Promise<ReadBody>;
  close(): Promise<void>;
}

export function createLongBodies(): LongBodies {
  const projects = new Map<string, LimitFunction>();
  let threads: Piscina<ThreadTask, ThreadAnswer> | undefined;
  const run = async ({ pieces, modality, ...rest }: LongBody): Promise<ReadBody> => {
    threads ??= startThreads();
    const task = { ...rest, pieces, modality: modality.name };
    const transferList = pieces.flatMap(ownBuffer);
    const answer = await threads
      .run(task, { transferList, signal: AbortSignal.timeout(DEADLINE_MS) })
      .catch((cause: unknown) => {
        const message = `The body could not be read within ${DEADLINE_MS / 1_000} s; try again.`;
        throw new JobError("service_unavailable", message, { cause });
      });
    if ("refusal" in answer) throw fromFailure(answer.refusal);
    return answer.read;
  };
  return {
    async read(body, projectId) {
      const limit = projects.get(projectId) ?? pLimit(1);
      if (limit.pendingCount >= MAX_WAITING) throw tooMany();
      projects.set(projectId, limit);
      try {
        return await limit(run, body);
      } finally {
        if (limit.activeCount + limit.pendingCount === 0) projects.delete(projectId);
      }
    },
    close: async () => await threads?.destroy(),
  };
}

function startThreads(): Piscina<ThreadTask, ThreadAnswer> {
  return new Piscina<ThreadTask, ThreadAnswer>({
    filename: fileURLToPath(new URL("./long-body-thread.js", import.meta.url)),
    minThreads: 1,
    maxThreads: MAX_THREADS,
    resourceLimits: { maxOldGenerationSizeMb: MAX_HEAP_MB },
  });
}

/** The memory of a piece, where nothing else lies in it. */
function ownBuffer({ buffer, byteLength }: Uint8Array): ArrayBuffer[] {
  return buffer instanceof ArrayBuffer && buffer.byteLength === byteLength ? [buffer] : [];
}

function tooMany(): JobError {
  const message = `At most ${MAX_WAITING} requests of a project, each longer than ${MAX_SHORT_BYTES} bytes, may wait to be read.`;
  return new JobError("rate_limit_exceeded", message, { retryAfterSeconds: 1 });
}
