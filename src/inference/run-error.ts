import { JobError } from "../core/errors.js";

/** Allocation failures are told apart, since another attempt on a freer device may succeed. */
export function toRunError(thrown: unknown): JobError {
  if (thrown instanceof JobError) return thrown;
  const message = thrown instanceof Error ? thrown.message : String(thrown);
  const isMemory = /alloc|out of memory/i.test(message);
  return new JobError(isMemory ? "out_of_memory" : "inference_crashed", message, { cause: thrown });
}
