import type { Units } from "./usage.js";

/**
 * A piece of an answer that a caller hears while it is made: plain JSON, or bytes of one stream. Bytes
 * may be cut anywhere on their way; JSON chunks arrive whole and must stay below 192 KiB.
 */
export type Chunk<Value = unknown> = Counted &
  (
    | { readonly type: "json"; readonly value: Value }
    | { readonly type: "bytes"; readonly bytes: Uint8Array }
  );

/** Bytes of a piece; of JSON, as it is written. */
export function sizeOfChunk(chunk: Chunk): number {
  return chunk.type === "bytes"
    ? chunk.bytes.byteLength
    : Buffer.byteLength(JSON.stringify(chunk.value) ?? "");
}

export interface Counted {
  /**
   * Units of the answer up to and with this piece: what its caller pays who hangs up after it. By
   * default as with the piece before.
   */
  readonly units?: Units | undefined;
}

/** A piece of a clip that can be played while the rest is made: fragmented MP4, in order. */
export interface LivePiece {
  /** The head, from 0 to 0, or what follows it. */
  readonly bytes: Uint8Array;
  /** Of the clip, in whole milliseconds: a piece begins where the one before ends. */
  readonly startMs: number;
  readonly endMs: number;
}

/** Stage of a job that waits for another of its process. */
export const WAITING = "waiting";

/** What a pipeline yields while it works: noun first, then what happened to it. */
export type PipelineEvent<Output = unknown> =
  | {
      readonly type: "progress";
      /** Share of the whole job done, 0 to 1. */
      readonly fraction: number;
      /** What is being done, for people: `prompt`, `steps`, `frames`, `muxing`, `checking`. */
      readonly stage: string;
    }
  | {
      /** Delivered in order, once in an attempt, before the job ends; only for requests that stream. */
      readonly type: "chunk";
      readonly chunk: Chunk;
    }
  | {
      /** A finished file in the job's scratch folder, to be uploaded by the worker. */
      readonly type: "file";
      readonly variant: string;
      readonly path: string;
      readonly mediaType: string;
    }
  | {
      /** A small picture of what is made so far; each takes the place of the one before. */
      readonly type: "preview";
      /** WebP. */
      readonly bytes: Uint8Array;
    }
  | ({ readonly type: "live" } & LivePiece)
  | {
      /** For so long it waited for another job of its process, in milliseconds: not work of this job. */
      readonly type: "waited";
      readonly ms: number;
    }
  | {
      /** What another worker goes on from, in the job's scratch folder: the last event before `preempted`. */
      readonly type: "checkpoint";
      readonly path: string;
    }
  | { readonly type: "output"; readonly output: Output };
