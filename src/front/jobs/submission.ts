import type { FastifyRequest } from "fastify";
import { JobError } from "../../core/errors.js";
import type { Modality, ModelInfo } from "../../core/modality.js";
import {
  callerOf,
  type LongBodies,
  LongJson,
  MAX_BODY_BYTES,
  readBody,
  type ReadBody,
  readMultipart,
  traceparentOf,
} from "../http/index.js";
import type { Submission } from "./new-job.js";
import { createJobId } from "./submit-job.js";

export interface SubmissionOptions {
  readonly modality: Modality;
  readonly models: readonly ModelInfo[];
  readonly longBodies: LongBodies;
  readonly randomBytes: (byteLength: number) => Uint8Array;
}

/** What a creation request asks for and whether it says that it was sent before. */
export async function readSubmission(
  request: FastifyRequest,
  options: SubmissionOptions,
): Promise<Submission> {
  const { modality, randomBytes } = options;
  const idempotencyKey = parseIdempotencyKey(request.headers["idempotency-key"]);
  const path = request.routeOptions.url ?? modality.endpoint.path;
  const isHashed = idempotencyKey !== null;
  return {
    ...(await readRequest(request, { ...options, path, isHashed })),
    id: createJobId(modality, randomBytes),
    path,
    caller: callerOf(request),
    modality,
    idempotencyKey,
    repeated: Number(request.headers["x-stainless-retry-count"] ?? 0) > 0,
    traceparent: traceparentOf(request),
  };
}

async function readRequest(
  request: FastifyRequest,
  options: SubmissionOptions & { readonly path: string; readonly isHashed: boolean },
): Promise<ReadBody> {
  const { modality, models, longBodies, path, isHashed } = options;
  const { maxBodyBytes = MAX_BODY_BYTES } = modality.endpoint;
  if (request.isMultipart()) return readBody(await readMultipart(request, maxBodyBytes), options);
  if (!(request.body instanceof LongJson)) return readBody(request.body, options);
  const { pieces } = request.body;
  const { maxBodyValues: maxValues } = request.routeOptions.config;
  const long = { pieces, modality, models, path, isHashed, maxValues };
  return await longBodies.read(long, callerOf(request).project.id);
}

function parseIdempotencyKey(header: string | string[] | undefined): string | null {
  if (header === undefined || header === "") return null;
  if (typeof header === "string" && /^[\x20-\x7e]{1,255}$/.test(header)) return header;
  throw new JobError("invalid_value", "Idempotency-Key must be 1 to 255 printable characters", {
    param: "Idempotency-Key",
  });
}
