import { readFile } from "node:fs/promises";

/** proc(5): VmRSS and VmHWM of /proc/pid/status, as bytes: resident now, and at most so far. Linux only. */
export async function readProcessMemory(processId: number) {
  const status = await readFile(`/proc/${processId}/status`, "utf8");
  const bytes = (field: string) =>
    Number(new RegExp(`^${field}:\\s+(\\d+) kB$`, "m").exec(status)?.[1]) * 1_024;
  return { residentBytes: bytes("VmRSS"), peakBytes: bytes("VmHWM") };
}
