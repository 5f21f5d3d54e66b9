import { readFileSync } from "node:fs";
import { systemCodeOf } from "./errors.js";

/** Whether a process of this machine is there, whoever owns it. */
export function isProcessAlive(processId: number): boolean {
  try {
    return process.kill(processId, 0);
  } catch (thrown) {
    return systemCodeOf(thrown) === "EPERM";
  }
}

/** When a process began, in ticks since the machine did: with its id it names one process. Linux; absent for one that has ended. */
export function processStart(processId: number): string | undefined {
  try {
    const text = readFileSync(`/proc/${processId}/stat`, "utf8");
    // proc(5): fields behind the name, which may hold anything; state is the first, starttime the twentieth.
    const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
    return fields[0] === "Z" || fields[0] === "X" ? undefined : fields[19];
  } catch {
    return undefined;
  }
}
