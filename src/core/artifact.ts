/** A finished file in the artifact store. */
export interface Artifact {
  /** Key in the store: `<job id>/<token>/<variant>.<extension>`. */
  readonly id: string;
  /** Which of a job's files this is: `content`, `thumbnail`, `spritesheet`, `input`. */
  readonly variant: string;
  readonly mediaType: string;
  readonly byteLength: number;
  /** Lower-case hexadecimal SHA-256 of the bytes. */
  readonly sha256: string;
}

/** Where the newest preview of a running attempt lies, in a folder of its own. */
export function previewFolder({
  jobId,
  token,
}: {
  readonly jobId: string;
  readonly token: number;
}) {
  return `${jobId}/${token}/preview/`;
}
