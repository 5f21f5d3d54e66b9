import { systemCodeOf } from "./errors.js";

/** Whether a process of this machine is there, whoever owns it. */
export function isProcessAlive(processId: number): boolean {
  try {
    return process.kill(processId, 0);
  } catch (thrown) {
    return systemCodeOf(thrown) === "EPERM";
  }
}
