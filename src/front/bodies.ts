import { createHash } from "node:crypto";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { JobError } from "../core/errors.js";

export const MAX_BODY_BYTES = 15 * 1024 * 1024;
const MAX_DEPTH = 32;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPENING = new Set([0x5b, 0x7b]);
const CLOSING = new Set([0x5d, 0x7d]);
/** Postgres stores neither NUL nor half a surrogate pair. */
const UNSTORABLE = /\0|\p{Surrogate}/u;
const POISON = new Set(["__proto__", "constructor", "prototype"]);

/** JSON is the only body besides multipart; an empty one is left to the route. */
export function acceptJson(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser(
    "application/json",
    { parseAs: "buffer" },
    async (_request: FastifyRequest, body: Buffer) => parseJson(body),
  );
}

/** Undefined for no body at all. */
export function parseJson(bytes: Buffer): unknown {
  if (bytes.length === 0) return undefined;
  checkNesting(bytes);
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes)) as unknown;
  } catch (cause) {
    throw new JobError("invalid_json", "the body is not valid JSON in UTF-8", { cause });
  }
}

/** Throws on what no endpoint takes: depth, poisoned names, text that cannot be stored. */
export function checkBody(value: unknown, path: readonly string[] = []): void {
  if (path.length > MAX_DEPTH) throw tooDeep();
  if (typeof value === "string" && UNSTORABLE.test(value)) throw unstorable(path);
  if (typeof value !== "object" || value === null || value instanceof Uint8Array) return;
  for (const [name, child] of Object.entries(value)) {
    if (UNSTORABLE.test(name) || POISON.has(name)) throw unstorable([...path, "(name)"]);
    checkBody(child, [...path, name]);
  }
}

/** SHA-256 of a parsed body, the same for any order of fields and any multipart boundary. */
export function hashBody(body: unknown): string {
  return createHash("sha256").update(canonical(body)).digest("hex");
}

function canonical(value: unknown): string {
  if (value instanceof Uint8Array) return createHash("sha256").update(value).digest("hex");
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "null";
  const fields = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return `{${fields.map(([name, child]) => `${JSON.stringify(name)}:${canonical(child)}`).join(",")}}`;
}

/** Before parsing: 15 MB of brackets would become a gigabyte of arrays. */
function checkNesting(bytes: Buffer): void {
  let depth = 0;
  let quoted = false;
  for (let index = 0; index < bytes.length; index += 1) {
    const byte = bytes[index] ?? 0;
    if (quoted && byte === BACKSLASH) index += 1;
    else if (byte === QUOTE) quoted = !quoted;
    else if (!quoted && CLOSING.has(byte)) depth -= 1;
    else if (!quoted && OPENING.has(byte)) depth += 1;
    if (depth > MAX_DEPTH) throw tooDeep();
  }
}

function tooDeep(): JobError {
  return new JobError("invalid_json", `the body is nested deeper than ${MAX_DEPTH} levels`);
}

function unstorable(path: readonly string[]): JobError {
  const param = path.join(".");
  return new JobError("invalid_value", `${param} holds characters or names that are not allowed`, {
    param,
  });
}
