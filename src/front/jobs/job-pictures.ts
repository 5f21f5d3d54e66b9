import type { FastifyReply } from "fastify";
import { previewFolder } from "../../core/artifact.js";
import { toJobError } from "../../core/errors.js";
import { isEndState } from "../../core/job.js";
import type { Endpoint } from "../../core/modality.js";
import type { ArtifactStore } from "../../storage/index.js";
import { chooseArtifact } from "./content.js";
import type { Database, JobRecord } from "../ledger/index.js";

export interface PictureOptions {
  readonly database: Database;
  readonly store: ArtifactStore;
  readonly endpoint: Endpoint;
  /** The variant that shows the job once it has completed. */
  readonly preview: string;
}

/** What there is to see of a job: the newest preview while it runs (204 before the first), a file afterwards. */
export async function sendPicture(
  options: PictureOptions,
  job: JobRecord,
  reply: FastifyReply,
): Promise<unknown> {
  reply.header("cache-control", "no-store");
  const isOpen = !isEndState(job.state);
  const bytes = isOpen ? await readNewest(options, job.id) : await readFinal(options, job);
  if (bytes === undefined) return await reply.code(204).send();
  return await reply.type("image/webp").send(bytes);
}

async function readFinal(
  { store, endpoint, preview }: PictureOptions,
  job: JobRecord,
): Promise<Uint8Array> {
  return await store.readBytes(chooseArtifact(endpoint, job, preview).id);
}

/** Undefined where the attempt under way has shown nothing yet. */
async function readNewest(
  { database, store }: PictureOptions,
  jobId: string,
): Promise<Uint8Array | undefined> {
  const { attempts } = await database.kysely
    .selectFrom("jobs")
    .select("attempts")
    .where("id", "=", jobId)
    .executeTakeFirstOrThrow();
  try {
    return await store.readBytes(`${previewFolder(jobId, attempts)}newest.webp`);
  } catch (thrown) {
    if (toJobError(thrown).code === "not_found") return undefined;
    throw thrown;
  }
}
