import { extname } from "node:path";
import type { FastifyReply, FastifyRequest } from "fastify";
import type { Artifact } from "../../core/artifact.js";
import { JobError, resourceCode } from "../../core/errors.js";
import type { Endpoint } from "../../core/modality.js";
import type { ArtifactStore, ByteRange } from "../../storage/index.js";
import { chooseRange, type RangeChoice, toRequestError } from "../http/index.js";
import { getArtifact } from "./job-output.js";
import type { JobRecord } from "../ledger/index.js";

/** Seconds between two polls, as the usage samples have it. */
const POLL_SECONDS = 5;

/** The artifact that `?variant=` names, or the reason why it cannot be had. */
export function chooseArtifact(endpoint: Endpoint, job: JobRecord, variant: unknown): Artifact {
  const { object } = endpoint;
  const name = parseVariant(endpoint, variant);
  if (job.state === "failed")
    throw new JobError(resourceCode(object, "failed"), `${job.id} has failed: it has no content`);
  if (job.state !== "completed")
    throw new JobError(resourceCode(object, "not_ready"), `${job.id} is ${job.state}`, {
      retryAfterSeconds: POLL_SECONDS,
    });
  if (job.expired)
    throw new JobError(
      resourceCode(object, "expired"),
      `the content of ${job.id} was available for 24 hours`,
    );
  return getArtifact(job, name);
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

/** `video` names the file itself, as clients for the convention call it. */
function parseVariant({ object, variants }: Endpoint, variant: unknown): string {
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
