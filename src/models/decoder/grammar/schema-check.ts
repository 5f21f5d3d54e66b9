import { createHash } from "node:crypto";
import { fileURLToPath } from "node:url";
import { isMainThread } from "node:worker_threads";
import { LRUCache } from "lru-cache";
import { Piscina } from "piscina";
import { JobError } from "../../../core/errors.js";
import { fromFailure, type JobFailure } from "../../../core/job.js";
import { type CheckedSchema, findRefusal } from "./schema.js";

/** Shorter ones, and what of them is read within so many parts, take a millisecond or two. */
const MAX_INLINE_CHARACTERS = 4_096;
const MAX_INLINE_PARTS = 1_000;
/** Longest wait for a verdict, the queue's included, in milliseconds. */
const DEADLINE_MS = 10_000;
const MAX_QUEUED = 64;
const IDLE_MS = 60_000;
const MAX_HEAP_MB = 256;
/** Verdicts by the hash of what was checked. */
const MAX_KNOWN = 4_096;

interface Verdict {
  readonly refusal: JobFailure | null;
}

const known = new LRUCache<string, Verdict>({ max: MAX_KNOWN });
let threads: Piscina<string, JobFailure | null> | undefined;

/**
 * Throws `invalid_value` where one of a request's schemas could not be held to. Long ones are read in a
 * thread of their own, so that other requests go on meanwhile.
 */
export async function checkSchemas(schemas: readonly CheckedSchema[]): Promise<void> {
  const text = JSON.stringify(schemas);
  const hash = createHash("sha256").update(text).digest("base64");
  const verdict = known.get(hash) ?? { refusal: await judge(schemas, text) };
  known.set(hash, verdict);
  const { refusal } = verdict;
  if (refusal !== null) throw fromFailure(refusal);
}

async function judge(schemas: readonly CheckedSchema[], text: string): Promise<JobFailure | null> {
  if (!isMainThread) return findRefusal(schemas, { follow: true });
  if (text.length <= MAX_INLINE_CHARACTERS) {
    const spent = { parts: 0, most: MAX_INLINE_PARTS };
    const refusal = findRefusal(schemas, { spent, follow: false });
    if (spent.parts <= MAX_INLINE_PARTS) return refusal;
  }
  return await judgeApart(text);
}

async function judgeApart(text: string): Promise<JobFailure | null> {
  threads ??= new Piscina({
    filename: fileURLToPath(new URL("./schema-thread.js", import.meta.url)),
    minThreads: 0,
    maxThreads: 1,
    maxQueue: MAX_QUEUED,
    idleTimeout: IDLE_MS,
    resourceLimits: { maxOldGenerationSizeMb: MAX_HEAP_MB },
  });
  try {
    return await threads.run(text, { signal: AbortSignal.timeout(DEADLINE_MS) });
  } catch (cause) {
    const message = `The request's schemas could not be read within ${DEADLINE_MS / 1_000} s; try again.`;
    throw new JobError("service_unavailable", message, { cause });
  }
}
