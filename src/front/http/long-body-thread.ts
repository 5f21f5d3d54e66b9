/** The thread side of `long-bodies.ts`. */
import { constants, setPriority } from "node:os";
import { JobError } from "../../core/errors.js";
import { toFailure } from "../../core/job.js";
import { findModality } from "../../modalities/registry.js";
import type { ThreadAnswer, ThreadTask } from "./long-bodies.js";
import { readLong } from "./read-body.js";

// On Linux a thread has a priority of its own; elsewhere this would be the process's.
if (process.platform === "linux") setPriority(constants.priority.PRIORITY_LOW);

/** The pool calls what a file has as its default. */
// oxlint-disable-next-line import/no-default-export
export default async function read({
  pieces,
  modality: name,
  ...rest
}: ThreadTask): Promise<ThreadAnswer> {
  const modality = findModality(name);
  if (modality === undefined) throw new Error(`no modality ${name}`);
  try {
    return { read: await readLong(pieces, { ...rest, modality }) };
  } catch (thrown) {
    if (thrown instanceof JobError) return { refusal: toFailure(thrown) };
    throw thrown;
  }
}
