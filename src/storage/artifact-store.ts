import { createHash, randomUUID } from "node:crypto";
import { createReadStream } from "node:fs";
import type { Readable } from "node:stream";
import type { Artifact } from "../core/artifact.js";
import { JobError, reasonOf } from "../core/errors.js";

export interface ByteRange {
  /** First and last byte, both included, within the artifact. */
  readonly start: number;
  readonly end: number;
}

export interface ArtifactPut {
  /** Key: `<job id>/<attempt>/<variant>.<extension>`, ASCII letters, digits and `._-/`. */
  readonly id: string;
  readonly variant: string;
  readonly mediaType: string;
}

/** Where finished media lie. Local folder or S3-compatible; one test suite for both. */
export interface ArtifactStore {
  /** Streams a file up, hashing as it goes; visible only when whole. Overwrites nothing foreign: ids carry the attempt. */
  putFile(put: ArtifactPut, path: string, signal?: AbortSignal): Promise<Artifact>;
  putBytes(put: ArtifactPut, bytes: Uint8Array): Promise<Artifact>;
  /** Throws `JobError` `not_found` where nothing lies. */
  openRead(id: string, range?: ByteRange): Promise<Readable>;
  readBytes(id: string): Promise<Uint8Array>;
  /** Bytes of an artifact; undefined where nothing lies. */
  findSize(id: string): Promise<number | undefined>;
  /** Removes every artifact below a prefix, e.g. `video_…/`; returns how many. */
  removeAll(prefix: string): Promise<number>;
  list(prefix: string): Promise<readonly string[]>;
  /** Throws with a sentence when the store cannot be written and read. */
  probe(): Promise<void>;
  close(): Promise<void>;
}

/** One part of an id; no leading dot, so neither `..` nor the store's own files can be named. */
const PART = /^[A-Za-z0-9_-][A-Za-z0-9._-]{0,199}$/;
const MAX_PARTS = 8;

/** Returns the id when it is safe as a key and as a relative path; throws `invalid_value` otherwise. */
export function checkedId(id: string): string {
  const parts = id.split("/");
  if (parts.length <= MAX_PARTS && parts.every((part) => PART.test(part))) return id;
  throw new JobError(
    "invalid_value",
    `artifact id must be 1 to ${MAX_PARTS} parts of letters, digits and ._- joined by /, got ${JSON.stringify(id.slice(0, 200))}`,
  );
}

/** Returns the prefix when it names a folder: a checked id with a trailing slash. */
export function checkedPrefix(prefix: string): string {
  if (!prefix.endsWith("/"))
    throw new JobError(
      "invalid_value",
      `artifact prefix must end in /, got ${JSON.stringify(prefix.slice(0, 200))}`,
    );
  checkedId(prefix.slice(0, -1));
  return prefix;
}

/** Counts and hashes bytes on their way to the store. */
export interface Digest {
  add(bytes: Uint8Array): void;
  /** The same chunks, each added. */
  pass(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer>;
  /** What was put, once all chunks have passed. */
  describe(put: ArtifactPut): Artifact;
}

export function createDigest(): Digest {
  const hash = createHash("sha256");
  let byteLength = 0;
  const add = (bytes: Uint8Array): void => {
    hash.update(bytes);
    byteLength += bytes.byteLength;
  };
  return {
    add,
    async *pass(chunks) {
      for await (const chunk of chunks) {
        add(chunk);
        yield chunk;
      }
    },
    describe({ id, variant, mediaType }) {
      return { id, variant, mediaType, byteLength, sha256: hash.digest("hex") };
    },
  };
}

/** A file's bytes in chunks of 1 MiB; it is opened with the first one and closed after the last. */
export async function* readChunks(path: string): AsyncGenerator<Buffer> {
  yield* createReadStream(path, { highWaterMark: 1024 * 1024 });
}

/** Writes, reads and removes a small artifact; throws `service_unavailable` with what went wrong. */
export async function probeStore(store: ArtifactStore, where: string): Promise<void> {
  const folder = `probe/${randomUUID()}/`;
  const written = Buffer.from(folder);
  try {
    const id = `${folder}content.txt`;
    await store.putBytes({ id, variant: "content", mediaType: "text/plain" }, written);
    const read = await store.readBytes(id);
    if (!written.equals(read))
      throw new Error(`wrote ${written.byteLength} bytes, read ${read.byteLength} others`);
    await store.removeAll(folder);
  } catch (cause) {
    const message = `artifact store ${where} cannot be used: ${reasonOf(cause)}`;
    throw new JobError("service_unavailable", message, { cause });
  }
}

/** Throws `cancelled` where the signal of an upload is aborted. */
export function throwIfAborted(signal: AbortSignal | undefined): void {
  if (signal?.aborted === true)
    throw new JobError("cancelled", "upload was cancelled", { cause: signal.reason });
}
