import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import type { Artifact } from "../core/artifact.js";
import type { ArtifactPut } from "./artifact-store.js";

/** Counts and hashes bytes on their way to the store. */
export interface Digest {
  /** The same chunks, seen. */
  pass(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer>;
  /** What was put, once all chunks have passed. */
  describe(put: ArtifactPut): Artifact;
}

export function createDigest(): Digest {
  const hash = createHash("sha256");
  let byteLength = 0;
  return {
    async *pass(chunks) {
      for await (const chunk of chunks) {
        hash.update(chunk);
        byteLength += chunk.byteLength;
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
