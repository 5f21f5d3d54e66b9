import { readFile } from "node:fs/promises";

export interface ProcessMemory {
  readonly residentBytes: number;
  /** Resident and not of a file: heaps, arenas, stacks. */
  readonly anonymousBytes: number;
  /** The most that ever was resident. */
  readonly peakBytes: number;
}

/** proc(5): VmRSS, RssAnon and VmHWM of /proc/pid/status (Linux). */
export async function readProcessMemory(processId: number): Promise<ProcessMemory> {
  const status = await readFile(`/proc/${processId}/status`, "utf8");
  const bytes = (field: string) =>
    Number(new RegExp(`^${field}:\\s+(\\d+) kB$`, "m").exec(status)?.[1]) * 1_024;
  return {
    residentBytes: bytes("VmRSS"),
    anonymousBytes: bytes("RssAnon"),
    peakBytes: bytes("VmHWM"),
  };
}
