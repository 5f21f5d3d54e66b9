import type { FastifyRequest } from "fastify";
import { JobError } from "../core/errors.js";
import type { Modality } from "../core/modality.js";
import { checkBody, hashBody, MAX_BODY_BYTES } from "./bodies.js";
import { readMultipart } from "./multipart.js";
import { callerOf, traceparentOf } from "./request-state.js";
import type { Submission } from "./new-job.js";
import { createJobId } from "./submit-job.js";

/** What a creation request asks for and whether it says that it was sent before. */
export async function readSubmission(
  request: FastifyRequest,
  modality: Modality,
  randomBytes: (byteLength: number) => Uint8Array,
): Promise<Submission> {
  const { path, maxBodyBytes = MAX_BODY_BYTES } = modality.endpoint;
  const body = request.isMultipart() ? await readMultipart(request, maxBodyBytes) : request.body;
  checkBody(body);
  const isPolled = modality.endpoint.delivery === "poll";
  const idempotencyKey = parseIdempotencyKey(request.headers["idempotency-key"]);
  const { webhookUrl, rest } = isPolled ? takeWebhook(body) : { webhookUrl: undefined, rest: body };
  return {
    id: createJobId(modality, randomBytes),
    path: request.routeOptions.url ?? path,
    caller: callerOf(request),
    modality,
    body: rest,
    webhookUrl,
    // What is answered at once and has no key is never compared with an earlier request.
    bodyHash: isPolled || idempotencyKey !== null ? hashBody([modality.name, body]) : "",
    idempotencyKey,
    repeated: Number(request.headers["x-stainless-retry-count"] ?? 0) > 0,
    traceparent: traceparentOf(request),
  };
}

/** The address that is told of the end, apart from what the modality reads. */
function takeWebhook(body: unknown): { readonly webhookUrl: unknown; readonly rest: unknown } {
  if (typeof body !== "object" || body === null || !("webhook_url" in body))
    return { webhookUrl: undefined, rest: body };
  const { webhook_url: webhookUrl, ...rest } = body;
  return { webhookUrl, rest };
}

function parseIdempotencyKey(header: string | string[] | undefined): string | null {
  if (header === undefined || header === "") return null;
  if (typeof header === "string" && /^[\x20-\x7e]{1,255}$/.test(header)) return header;
  throw new JobError("invalid_value", "Idempotency-Key must be 1 to 255 printable characters", {
    param: "Idempotency-Key",
  });
}
