import { createHash } from "node:crypto";
import type { Readable } from "node:stream";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { JobError } from "../../core/errors.js";

/** Bytes of JSON that are read on the event loop: a millisecond or two of work. */
export const MAX_SHORT_BYTES = 16 * 1024;
/** Longest body of an endpoint that takes no files. */
export const MAX_BODY_BYTES = 4 * 1024 * 1024;
/** Each takes some hundred bytes more than it holds. */
const MOST_PIECES = 1_024;
/** Most values of a body, containers included: each costs some hundred bytes once it is parsed. */
const MAX_VALUES = 50_000;
/** Most names of fields: those that differ are ten times as slow to read as values. */
const MAX_NAMES = 10_000;
const MAX_DEPTH = 64;
const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const BACKSLASH = 0x5c;
const OPENING_BRACKET = 0x5b;
const CLOSING_BRACKET = 0x5d;
const OPENING_BRACE = 0x7b;
const CLOSING_BRACE = 0x7d;
/** Postgres stores neither NUL nor half a surrogate pair. */
const UNSTORABLE = /\0|\p{Surrogate}/u;
/** A name that changes what an object inherits where it is assigned. */
const POISON = "__proto__";

/** A long body as it came, in pieces: to put them together takes as long as to read them. */
export class LongJson {
  readonly pieces: readonly Buffer[];

  constructor(pieces: readonly Buffer[]) {
    this.pieces = pieces;
  }
}

/** JSON is the only body besides forms; an empty one is left to the route. */
export function acceptJson(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser("*", async (request: FastifyRequest) => {
    throw otherMediaType(request);
  });
  app.addContentTypeParser("application/json", async (request: FastifyRequest, body: Readable) => {
    const { config } = request.routeOptions;
    const pieces = await readBytes(request, body);
    const length = pieces.reduce((sum, piece) => sum + piece.length, 0);
    return config.keepsLongBody === true && length > MAX_SHORT_BYTES
      ? new LongJson(pieces)
      : parseJson(pieces, config.maxBodyValues);
  });
}

export function otherMediaType({ headers }: FastifyRequest): JobError {
  const given = JSON.stringify(headers["content-type"]?.slice(0, 64) ?? "");
  const message = `Content-Type must be application/json or multipart/form-data, got ${given}`;
  return new JobError("unsupported_media_type", message);
}

/** A body up to the limit of its route, in the pieces that it came in. */
export async function readBytes(request: FastifyRequest, body: Readable): Promise<Buffer[]> {
  checkEncoding(request.headers["content-encoding"]);
  const announced = Number(request.headers["content-length"] ?? 0);
  return await readPieces(body, { announced, limit: request.routeOptions.bodyLimit });
}

function checkEncoding(encoding = "identity"): void {
  if (encoding.toLowerCase() === "identity") return;
  const message = `Content-Encoding must be left out, got ${JSON.stringify(encoding.slice(0, 64))}: bodies are read as they are`;
  throw new JobError("unsupported_media_type", message);
}

/** What is too long is read to its end and dropped: the answer must find its way. */
async function readPieces(
  body: Readable,
  { announced, limit }: { readonly announced: number; readonly limit: number },
): Promise<Buffer[]> {
  return await new Promise<Buffer[]>((resolve, reject) => {
    const pieces: Buffer[] = [];
    let room = announced > limit ? -1 : limit;
    if (room < 0) reject(tooLong(limit));
    body.on("data", (piece: Buffer) => {
      // Lets others run between two pieces: a socket is read for megabytes at once otherwise.
      body.pause();
      setImmediate(() => body.resume());
      room -= piece.length;
      if (room < 0) reject(tooLong(limit));
      else if (pieces.length < MOST_PIECES) pieces.push(piece);
      else pieces.splice(0, MOST_PIECES, Buffer.concat([...pieces, piece]));
    });
    body.once("end", () => resolve(pieces));
    body.once("error", (cause) =>
      reject(new JobError("invalid_value", "the body did not arrive whole", { cause })),
    );
  });
}

function tooLong(limit: number): JobError {
  return new JobError("payload_too_large", `the body must be at most ${limit} bytes`);
}

/** Undefined for no body at all. */
export function parseJson(pieces: readonly Uint8Array[], maxValues = MAX_VALUES): unknown {
  const bytes = Buffer.concat(pieces);
  if (bytes.length === 0) return undefined;
  checkSize(bytes, maxValues);
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes)) as unknown;
  } catch (cause) {
    throw new JobError("invalid_json", "the body is not valid JSON in UTF-8", { cause });
  }
}

/** Throws on what no endpoint takes: depth, a poisoned name, text that cannot be stored. */
export function checkBody(value: unknown): void {
  const refused = findRefused(value, 0);
  if (refused === undefined) return;
  if (refused === "too deep") throw tooDeep();
  const param = refused.toReversed().join(".");
  const message = `${param} holds characters or names that are not allowed`;
  throw new JobError("invalid_value", message, { param });
}

/** The way to what is refused, innermost name first; built only then. */
function findRefused(value: unknown, depth: number): string[] | "too deep" | undefined {
  if (depth > MAX_DEPTH) return "too deep";
  if (typeof value === "string") return UNSTORABLE.test(value) ? [] : undefined;
  if (typeof value !== "object" || value === null || value instanceof Uint8Array) return undefined;
  return Array.isArray(value) ? findInList(value, depth) : findInFields(value, depth);
}

function findInList(list: readonly unknown[], depth: number) {
  for (let index = 0; index < list.length; index += 1) {
    const refused = findRefused(list[index], depth + 1);
    if (refused !== undefined) return within(refused, String(index));
  }
  return undefined;
}

function findInFields(fields: object, depth: number) {
  for (const name of Object.keys(fields)) {
    if (name === POISON || UNSTORABLE.test(name)) return ["(name)"];
    const refused = findRefused(Reflect.get(fields, name), depth + 1);
    if (refused !== undefined) return within(refused, name);
  }
  return undefined;
}

function within(refused: string[] | "too deep", name: string): string[] | "too deep" {
  if (refused !== "too deep") refused.push(name);
  return refused;
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

/** Before parsing: 15 MB of brackets would become a gigabyte of arrays. Ends at the first too many. */
function checkSize(bytes: Buffer, maxValues: number): void {
  let depth = 0;
  let values = 1;
  let names = 0;
  for (let index = 0; index < bytes.length; index += 1) {
    checkCounts(values, names, maxValues);
    switch (bytes[index] ?? 0) {
      case QUOTE:
        index = endOfString(bytes, index);
        break;
      case COMMA:
        values += 1;
        break;
      case COLON:
        names += 1;
        break;
      case OPENING_BRACKET:
      case OPENING_BRACE:
        values += 1;
        depth += 1;
        if (depth > MAX_DEPTH) throw tooDeep();
        break;
      case CLOSING_BRACKET:
      case CLOSING_BRACE:
        depth -= 1;
        break;
      default:
    }
  }
}

/** Of the quote that ends the string begun at `start`, or of the last byte. */
function endOfString(bytes: Buffer, start: number): number {
  let index = start + 1;
  while (index < bytes.length && bytes[index] !== QUOTE)
    index += bytes[index] === BACKSLASH ? 2 : 1;
  return index;
}

function checkCounts(values: number, names: number, maxValues: number): void {
  if (values > maxValues) throw tooMany("values", maxValues);
  if (names > MAX_NAMES) throw tooMany("names of fields", MAX_NAMES);
}

function tooMany(what: string, most: number): JobError {
  return new JobError("invalid_value", `the body must have at most ${most} ${what}`);
}

function tooDeep(): JobError {
  return new JobError("invalid_json", `the body is nested deeper than ${MAX_DEPTH} levels`);
}
