import { createHmac, hkdfSync, timingSafeEqual } from "node:crypto";
import type { Message } from "amqplib";
import { z } from "zod";
import { JobError } from "../core/errors.js";
import type { Job } from "../core/job.js";
import { SERVICE_TIERS } from "../core/service-tier.js";

/** Longest request as JSON, in bytes of UTF-8. Bigger inputs travel as artifacts. */
export const MAX_REQUEST_BYTES = 65_536;

/** Longest message: the request and its envelope, whose fields are bounded below. */
export const MAX_MESSAGE_BYTES = MAX_REQUEST_BYTES + 2_048;

export const CONTENT_TYPE = "application/json";

/** Kind and version of the body; a reader buries what it does not know. */
export const MESSAGE_TYPE = "framemill.job.v1";

/** Names of folders and files are made of it. */
const JOB_ID = /^[A-Za-z0-9_-]{1,128}$/;

const jobSchema = z.object({
  id: z.string().regex(JOB_ID),
  modality: z.string().min(1).max(64),
  model: z.string().min(1).max(128),
  serviceTier: z.enum(SERVICE_TIERS).optional(),
  request: z.unknown(),
  requestFile: z
    .object({
      id: z.string().max(512),
      variant: z.string().max(64),
      mediaType: z.string().max(128),
      byteLength: z.number().int().nonnegative(),
      sha256: z.string().max(64),
    })
    .optional(),
  expiresAtMs: z.number().int().nonnegative(),
  reportTo: z.string().min(1).max(512),
  traceparent: z.string().max(128).optional(),
  tenant: z.string().max(64).optional(),
});

/** The properties that say how to read a body. */
export interface MessageFormat {
  readonly contentType?: unknown;
  readonly type?: unknown;
}

/** A body that cannot be a job. No attempt can help it: it belongs in the dead-letter queue. */
export class CorruptedMessageError extends Error {
  override readonly name = "CorruptedMessageError";
}

/** Throws `JobError` when the job does not fit a message. */
export function encodeJob(job: Job): Buffer {
  const requestBytes = Buffer.byteLength(JSON.stringify(job.request) ?? "");
  if (requestBytes > MAX_REQUEST_BYTES)
    throw new JobError(
      "payload_too_large",
      `request must be at most ${MAX_REQUEST_BYTES} bytes as JSON, got ${requestBytes}`,
    );
  const parsed = jobSchema.safeParse(job);
  if (!parsed.success)
    throw new JobError("invalid_value", `not a job: ${z.prettifyError(parsed.error)}`);
  return Buffer.from(JSON.stringify(parsed.data));
}

/** Throws `CorruptedMessageError`. Fields a newer writer added are dropped. */
export function decodeJob(body: Buffer, format: MessageFormat): Job {
  if (format.type !== MESSAGE_TYPE || format.contentType !== CONTENT_TYPE)
    throw new CorruptedMessageError(
      `message must be ${MESSAGE_TYPE} as ${CONTENT_TYPE}, got ${String(format.type)} as ${String(format.contentType)}`,
    );
  if (body.byteLength > MAX_MESSAGE_BYTES)
    throw new CorruptedMessageError(
      `message must be at most ${MAX_MESSAGE_BYTES} bytes, got ${body.byteLength}`,
    );
  const parsed = jobSchema.safeParse(parseJson(body));
  if (!parsed.success) throw new CorruptedMessageError(z.prettifyError(parsed.error));
  const { serviceTier, traceparent, tenant, requestFile, ...job } = parsed.data;
  return {
    ...job,
    ...(serviceTier !== undefined && { serviceTier }),
    ...(traceparent !== undefined && { traceparent }),
    ...(tenant !== undefined && { tenant }),
    ...(requestFile !== undefined && { requestFile }),
  };
}

function parseJson(body: Buffer): unknown {
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(body));
  } catch (cause) {
    throw new CorruptedMessageError("message is not JSON", { cause });
  }
}

/** Header that says who wrote a message: `v1=` and the HMAC-SHA256 of routing key and body, hexadecimal. */
export const SIGNATURE = "framemill-signature";

/** Signs what fronts send, and checks that they sent it. */
export interface MessageSigner {
  sign(routingKey: string, body: Buffer): string;
  /** Throws `CorruptedMessageError` for a message that no holder of the secret has signed. */
  verify(routingKey: string, body: Buffer, signature: string | undefined): void;
}

export interface MessageSignerOptions {
  /** What fronts and workers share: the worker token. */
  readonly secret: string;
  /** Takes messages without a signature, as fronts of before sent them; a wrong one is refused all the same. */
  readonly acceptUnsigned?: boolean;
}

/** The signature that a message came with. */
export function signatureOf({ properties }: Pick<Message, "properties">): string | undefined {
  const signature: unknown = properties.headers?.[SIGNATURE];
  return typeof signature === "string" ? signature : undefined;
}

export function createMessageSigner({
  secret,
  acceptUnsigned = false,
}: MessageSignerOptions): MessageSigner {
  // A key of its own (RFC 5869), so that no signature is made with the token itself.
  const key = Buffer.from(hkdfSync("sha256", secret, "", "framemill queue message v1", 32));
  const sign = (routingKey: string, body: Buffer): string =>
    `v1=${createHmac("sha256", key).update(`${routingKey}\n`).update(body).digest("hex")}`;
  return {
    sign,
    verify(routingKey, body, signature) {
      if (signature === undefined && acceptUnsigned) return;
      if (signature === undefined)
        throw new CorruptedMessageError(
          `message has no ${SIGNATURE}: no front of this installation sent it, or one of a version that did not sign yet (ACCEPT_UNSIGNED)`,
        );
      if (!isSame(sign(routingKey, body), signature))
        throw new CorruptedMessageError(
          `message has a wrong ${SIGNATURE}: it was changed, or its sender has another WORKER_TOKEN`,
        );
    },
  };
}

function isSame(expected: string, given: string): boolean {
  const [left, right] = [Buffer.from(expected), Buffer.from(given)];
  return left.length === right.length && timingSafeEqual(left, right);
}
