import { readFile } from "node:fs/promises";
import { totalmem } from "node:os";

/** Of the container's memory, or the machine's: beyond it the kernel would choose whom to kill. */
const SHARE = 0.9;
const INTERVAL_MS = 1_000;
const PAGE_BYTES = 4_096;

/** Bytes that this process and its inference process may hold together. */
export function memoryAllowance(): number {
  const limit = process.constrainedMemory();
  return SHARE * (limit > 0 && limit < totalmem() ? limit : totalmem());
}

export interface MemoryWatchOptions {
  readonly processId: number;
  readonly allowance: number;
  /** Called once, with the bytes that were held. */
  readonly onExceeded: (bytes: number) => void;
}

/** Looks at the resident memory of a process and of this one every second; only Linux tells it. */
export function watchMemory({ processId, allowance, onExceeded }: MemoryWatchOptions): () => void {
  const look = async (): Promise<void> => {
    const bytes = process.memoryUsage.rss() + (await residentBytes(processId));
    if (bytes <= allowance) return;
    clearInterval(timer);
    onExceeded(bytes);
  };
  const timer = setInterval(() => void look(), INTERVAL_MS);
  timer.unref();
  return () => clearInterval(timer);
}

/** Resident bytes of a process; 0 where it has gone or the system does not say. */
export async function residentBytes(processId: number): Promise<number> {
  const statm = await readFile(`/proc/${processId}/statm`, "utf8").catch(() => "");
  return Number(statm.split(" ")[1] ?? 0) * PAGE_BYTES;
}
