/** The thread side of `schema-check.ts`. */
import { constants, setPriority } from "node:os";
import type { JobFailure } from "../../../core/job.js";
import { type CheckedSchema, findRefusal } from "./schema.js";

// On Linux a thread has a priority of its own; elsewhere this would be the process's.
if (process.platform === "linux") setPriority(constants.priority.PRIORITY_LOW);

/** Reads the schemas of one request, as JSON. The pool calls what a file has as its default. */
// oxlint-disable-next-line import/no-default-export
export default function judge(text: string): JobFailure | null {
  // schema-check.ts writes it.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  return findRefusal(JSON.parse(text) as CheckedSchema[], { follow: true });
}
