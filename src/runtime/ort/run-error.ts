import { JobError, messageOf } from "../../core/errors.js";

/** What the execution providers say when the device under them is of no more use to this process. */
const DEVICE = /\b(CUDA|CUDNN|CUBLAS|HIP|MIOPEN|DXGI)\b|device (was |is )?(lost|removed|hung)/i;

/**
 * Allocation failures are told apart, since another attempt on a freer device may succeed, and device
 * faults, since they poison the process.
 */
export function toRunError(thrown: unknown, role?: string): JobError {
  if (thrown instanceof JobError) return thrown;
  const message = messageOf(thrown);
  const where = role === undefined ? "" : `the graph ${role}: `;
  return new JobError(codeOf(message), `${where}${message}`, { cause: thrown });
}

function codeOf(message: string): "out_of_memory" | "device_lost" | "inference_crashed" {
  if (/alloc|out of memory/i.test(message)) return "out_of_memory";
  return DEVICE.test(message) ? "device_lost" : "inference_crashed";
}
