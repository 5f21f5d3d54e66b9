import type { Readable } from "node:stream";
import type { Multipart } from "@fastify/multipart";
import type { FastifyInstance, FastifyRequest } from "fastify";
import qs from "qs";
import { JobError } from "../../core/errors.js";
import type { UploadedFile } from "../../core/modality.js";
import { MAX_BODY_BYTES, otherMediaType, readBytes } from "./bodies.js";

/** Parser limits: a part too many or too long is refused, not cut. */
export const MULTIPART_LIMITS = {
  fieldNameSize: 200,
  fieldSize: 2 * 1024 * 1024,
  fields: 100,
  files: 8,
  fileSize: MAX_BODY_BYTES,
  headerPairs: 50,
  parts: 108,
} as const;

const NESTING = { depth: 8, strictDepth: true, arrayLimit: 100, parameterLimit: 1_000 } as const;

type PartValue = string | UploadedFile | object;

/**
 * A form without files may come urlencoded, as aiohttp and requests send it. `curl -d` says the same of JSON,
 * which is no form.
 */
export function acceptForms(app: FastifyInstance): void {
  const type = "application/x-www-form-urlencoded";
  app.addContentTypeParser(type, async (request: FastifyRequest, body: Readable) => {
    const text = Buffer.concat(await readBytes(request, body)).toString();
    if (/^\s*[[{]/.test(text)) throw otherMediaType(request);
    const parts = [...new URLSearchParams(text)];
    if (parts.length > MULTIPART_LIMITS.fields) throw tooMany("fields");
    try {
      return nest(parts);
    } catch (cause) {
      throw asBodyError(cause, MAX_BODY_BYTES);
    }
  });
}

/** A form as the object its JSON twin would be: `a[b]` nests, `a[]` collects, files stay bytes. */
export async function readMultipart(request: FastifyRequest, maxBytes: number): Promise<unknown> {
  if (Number(request.headers["content-length"] ?? 0) > maxBytes) throw tooLarge(maxBytes);
  try {
    return nest(await readParts(request, maxBytes));
  } catch (cause) {
    throw asBodyError(cause, maxBytes);
  }
}

async function readParts(
  request: FastifyRequest,
  maxBytes: number,
): Promise<[name: string, PartValue][]> {
  const parts: [string, PartValue][] = [];
  let byteLength = 0;
  // @fastify/busboy 3.2.6 never goes on after a skipped part that is longer than its buffer.
  const unpaused = { fileHwm: maxBytes + 1 };
  for await (const part of request.parts({ ...unpaused, limits: { fileSize: maxBytes } })) {
    const value = await readPart(part, maxBytes);
    byteLength += sizeOf(value);
    if (byteLength > maxBytes) throw tooLarge(maxBytes);
    parts.push([part.fieldname, value]);
  }
  return parts;
}

async function readPart(part: Multipart, maxBytes: number): Promise<PartValue> {
  if (part.type === "file") {
    const bytes = await part.toBuffer();
    return { filename: part.filename, mediaType: part.mimetype, bytes };
  }
  if (part.valueTruncated || part.fieldnameTruncated) throw tooLarge(maxBytes);
  return typeof part.value === "string" ? part.value : Object(part.value);
}

/** The names go through `qs` with numbers for values, which are then exchanged for the parts. */
function nest(parts: readonly (readonly [string, PartValue])[]): unknown {
  const query = parts.map(([name], index) => `${encodeURIComponent(name)}=${index}`).join("&");
  return exchange(qs.parse(query, NESTING), (index) => parts[Number(index)]?.[1]);
}

function exchange(value: unknown, find: (index: string) => unknown): unknown {
  if (typeof value === "string") return find(value);
  if (Array.isArray(value)) return value.map((item) => exchange(item, find));
  const fields = Object.entries(value ?? {}).map(([name, child]) => [name, exchange(child, find)]);
  return Object.fromEntries(fields) as unknown;
}

function sizeOf(value: PartValue): number {
  if (typeof value === "string") return value.length;
  return "bytes" in value ? value.bytes.byteLength : 0;
}

/** Whatever the parser stumbles over was sent by the caller. */
function asBodyError(cause: unknown, maxBytes: number): JobError {
  if (cause instanceof JobError) return cause;
  if (!(cause instanceof Error)) return new JobError("invalid_value", "broken multipart body");
  if ("code" in cause && cause.code === "FST_FIELDS_LIMIT") return tooMany("fields", cause);
  if ("code" in cause && cause.code === "FST_FILES_LIMIT") return tooMany("files", cause);
  if ("statusCode" in cause && cause.statusCode === 413) return tooLarge(maxBytes, cause);
  const reason = cause.message;
  return new JobError("invalid_value", `the form is not usable: ${reason}`, { cause });
}

function tooMany(kind: "fields" | "files", cause?: Error): JobError {
  const message = `a form must have at most ${MULTIPART_LIMITS[kind]} ${kind}`;
  return new JobError("payload_too_large", message, { cause });
}

function tooLarge(maxBytes: number, cause?: unknown): JobError {
  return new JobError("payload_too_large", `the body must be at most ${maxBytes} bytes`, {
    cause,
  });
}
