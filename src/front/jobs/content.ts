import { extname } from "node:path";
import type { FastifyReply, FastifyRequest, FastifyInstance } from "fastify";
import { sql, type JobRecord, type Database } from "../ledger/index.js";
import { type Artifact, previewFolder } from "../../core/artifact.js";
import { JobError, resourceCode, toJobError } from "../../core/errors.js";
import type { Endpoint } from "../../core/modality.js";
import type { ArtifactStore, ByteRange } from "../../storage/index.js";
import { chooseRange, type RangeChoice, toRequestError, type FileLinks } from "../http/index.js";
import { isEndState } from "../../core/job.js";

/** Seconds between two polls, as the usage samples have it. */
export const POLL_SECONDS = 5;

/** The artifact that `?variant=` names, or the reason why it cannot be had. */
export function chooseArtifact(endpoint: Endpoint, job: JobRecord, variant: unknown): Artifact {
  const { object } = endpoint;
  const name = parseVariant(endpoint, variant);
  refuseEnded(endpoint, job);
  if (job.state !== "completed")
    throw new JobError(resourceCode(object, "not_ready"), `${job.id} is ${job.state}`, {
      retryAfterSeconds: POLL_SECONDS,
    });
  return getArtifact(job, name);
}

/** Throws where a job has no content, or not any more. */
export function refuseEnded({ object }: Endpoint, job: JobRecord): void {
  if (job.state === "failed")
    throw new JobError(resourceCode(object, "failed"), `${job.id} has failed: it has no content`);
  if (job.state === "completed" && job.expired)
    throw new JobError(
      resourceCode(object, "expired"),
      `the content of ${job.id} was available for 24 hours`,
    );
}

/** Answers 200, 206, 304 or 416, without the bytes for HEAD. */
export async function sendArtifact(
  store: ArtifactStore,
  request: FastifyRequest,
  reply: FastifyReply,
  file: { readonly artifact: Artifact; readonly name: string },
): Promise<unknown> {
  const { artifact } = file;
  const etag = `"${artifact.sha256}"`;
  reply.headers({
    "accept-ranges": "bytes",
    "cache-control": "private, no-cache",
    "content-disposition": `attachment; filename="${file.name}${extname(artifact.id)}"`,
    etag,
  });
  if (request.headers["if-none-match"] === etag) return await reply.code(304).send();
  const range = askedRange(request, etag, artifact.byteLength);
  if (range === "unsatisfiable") {
    reply.header("content-range", `bytes */${artifact.byteLength}`);
    throw new JobError("range_not_satisfiable", `the file has ${artifact.byteLength} bytes`);
  }
  reply.type(artifact.mediaType).header("content-length", lengthOf(range, artifact));
  if (range !== "whole") {
    const { start, end } = range;
    reply.code(206).header("content-range", `bytes ${start}-${end}/${artifact.byteLength}`);
  }
  if (request.method === "HEAD") return await reply.send();
  return await reply.send(await openFile(store, artifact, range === "whole" ? undefined : range));
}

/** What the store calls its artifacts is nothing for callers. */
async function openFile(store: ArtifactStore, { id }: Artifact, range: ByteRange | undefined) {
  return await store.openRead(id, range).catch((cause: unknown) => {
    if (toRequestError(cause).code !== "not_found") throw cause;
    throw new JobError("not_found", "the file is not there any more", { cause });
  });
}

/**
 * Of an endpoint's files: `content`, or one of its variants. `video` names the file itself, as clients for
 * the convention call it. Throws `invalid_value` for others.
 */
export function parseVariant({ object, variants }: Endpoint, variant: unknown): string {
  if (variant === undefined || variant === "content" || variant === object) return "content";
  if (typeof variant === "string" && variants.includes(variant)) return variant;
  const known = [object, ...variants].join(", ");
  throw new JobError("invalid_value", `variant must be one of ${known}`, { param: "variant" });
}

/** `If-Range` with another file's tag (or a date: none is sent) asks for the whole. */
function askedRange(request: FastifyRequest, etag: string, byteLength: number): RangeChoice {
  const condition = request.headers["if-range"];
  if (condition !== undefined && condition !== etag) return "whole";
  return chooseRange(request.headers.range, byteLength);
}

function lengthOf(range: Exclude<RangeChoice, "unsatisfiable">, artifact: Artifact): number {
  return range === "whole" ? artifact.byteLength : range.end - range.start + 1;
}

interface FileRequest {
  Params: { readonly jobId: string; readonly variant: string };
  Querystring: { readonly expires?: unknown; readonly signature?: unknown };
}

interface FileRouteOptions {
  readonly database: Database;
  readonly store: ArtifactStore;
  readonly links: FileLinks;
}

/** Downloads by a signed link, without a key: what `url` in an answer names. */
export function addFileRoute(app: FastifyInstance, options: FileRouteOptions): void {
  const { database, store, links } = options;
  app.get<FileRequest>("/files/:jobId/:variant", async (request, reply) => {
    const { jobId, variant } = request.params;
    const expires = Number(request.query.expires);
    const { signature } = request.query;
    if (typeof signature !== "string") throw unknownFile();
    if (!links.isValid({ jobId, variant, expires, signature })) throw unknownFile();
    const { rows } = await sql<Pick<JobRecord, "artifacts">>`SELECT artifacts FROM jobs
      WHERE id = ${jobId} AND deleted_at IS NULL AND expires_at > now()
        AND NOT files_removed`.execute(database);
    const artifact = rows[0]?.artifacts.find((candidate) => candidate.variant === variant);
    if (artifact === undefined) throw unknownFile();
    return await sendArtifact(store, request, reply, { artifact, name: `${jobId}-${variant}` });
  });
}

export function unknownFile(): JobError {
  return new JobError("not_found", "the link is not valid, or not any more");
}

interface PictureOptions {
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
  const { store, endpoint, preview } = options;
  const bytes = isEndState(job.state)
    ? await store.readBytes(chooseArtifact(endpoint, job, preview).id)
    : await readNewest(options, job.id);
  if (bytes === undefined) return await reply.code(204).send();
  return await reply.type("image/webp").send(bytes);
}

/** Undefined where the attempt under way has shown nothing yet. */
async function readNewest(
  { database, store }: PictureOptions,
  jobId: string,
): Promise<Uint8Array | undefined> {
  const { rows } = await sql<{ attempts: number }>`SELECT attempts FROM jobs
    WHERE id = ${jobId}`.execute(database);
  try {
    return await store.readBytes(`${previewFolder(jobId, rows[0]?.attempts ?? 0)}newest.webp`);
  } catch (thrown) {
    if (toJobError(thrown).code === "not_found") return undefined;
    throw thrown;
  }
}

/**
 * What the pipeline said of a completed job, from the ledger or, where it was too long, its file;
 * undefined when the file has expired.
 */
export async function readOutput(
  store: ArtifactStore,
  { output, artifacts, expired }: Pick<JobRecord, "output" | "artifacts" | "expired">,
): Promise<unknown> {
  const file = artifacts.find(({ variant }) => variant === "output");
  if (file === undefined) return output;
  if (expired) return undefined;
  return JSON.parse(new TextDecoder().decode(await store.readBytes(file.id)));
}

/** A file of a completed job. */
export function getArtifact(
  { id, artifacts }: Pick<JobRecord, "id" | "artifacts">,
  variant: string,
): Artifact {
  const artifact = artifacts.find((candidate) => candidate.variant === variant);
  if (artifact !== undefined) return artifact;
  throw new JobError("not_found", `${id} has no ${variant}`, { param: "variant" });
}
