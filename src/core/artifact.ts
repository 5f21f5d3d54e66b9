/** A finished file in the artifact store. */
export interface Artifact {
  /** Key in the store: `<job id>/<attempt>/<variant>.<extension>`. */
  readonly id: string;
  /** Which of a job's files this is: `content`, `thumbnail`, `spritesheet`, `input`. */
  readonly variant: string;
  readonly mediaType: string;
  readonly byteLength: number;
  /** Lower-case hexadecimal SHA-256 of the bytes. */
  readonly sha256: string;
}

/** Where an attempt's files lie. Attempts count from 1. */
export function attemptFolder(jobId: string, attempt: number): string {
  return `${jobId}/${attempt}/`;
}

/** Where lies what the caller sent. */
export function sentFolder(jobId: string): string {
  return attemptFolder(jobId, 0);
}

/** Where the newest preview of a running attempt lies, in a folder of its own. */
export function previewFolder(jobId: string, attempt: number): string {
  return `${attemptFolder(jobId, attempt)}preview/`;
}

/** Name of what every piece of a clip in the making is played with. */
export const LIVE_HEAD = "head.mp4";

/** Where an attempt's clip lies in pieces while it is made: its head, then `<start>-<end>.m4s` in milliseconds. */
export function liveFolder(jobId: string, attempt: number): string {
  return `${attemptFolder(jobId, attempt)}live/`;
}
