import type { Readable } from "node:stream";
import type { Artifact } from "../core/artifact.js";

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
