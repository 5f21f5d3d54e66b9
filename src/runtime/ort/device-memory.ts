import { execFile } from "node:child_process";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";

export interface DeviceMemory {
  readonly usedBytes: number;
  readonly totalBytes: number;
}

const MEBIBYTE = 2 ** 20;
const QUERY = ["--query-gpu=memory.used,memory.total", "--format=csv,noheader,nounits"];
const QUERY_MS = 3_000;
/** Of the Linux kernel; amdgpu names its memory there. */
const CARDS = "/sys/class/drm";

/**
 * Memory of the first GPU, of all its users; undefined where the models run on the processor alone or no
 * driver tells. What nvidia-smi says of an NVIDIA GPU, what amdgpu says of an AMD one.
 */
export async function readDeviceMemory(
  providers: readonly string[],
): Promise<DeviceMemory | undefined> {
  if (providers.every((provider) => provider === "cpu")) return undefined;
  return (await askNvidia()) ?? (await readAmd());
}

async function askNvidia(): Promise<DeviceMemory | undefined> {
  const asked = await promisify(execFile)("nvidia-smi", QUERY, { timeout: QUERY_MS }).catch(
    () => undefined,
  );
  const numbers = /^(\d+), (\d+)$/m.exec(asked?.stdout ?? "");
  if (numbers === null) return undefined;
  const [, used, total] = numbers.map(Number);
  return toMemory(Number(used) * MEBIBYTE, Number(total) * MEBIBYTE);
}

async function readAmd(): Promise<DeviceMemory | undefined> {
  const cards = (await readdir(CARDS).catch(() => [])).filter((name) => /^card\d+$/.test(name));
  for (const card of cards) {
    const read = async (name: string) =>
      Number(await readFile(join(CARDS, card, "device", name), "utf8").catch(() => Number.NaN));
    const memory = toMemory(await read("mem_info_vram_used"), await read("mem_info_vram_total"));
    if (memory !== undefined) return memory;
  }
  return undefined;
}

function toMemory(usedBytes: number, totalBytes: number): DeviceMemory | undefined {
  return Number.isFinite(usedBytes) && totalBytes > 0 ? { usedBytes, totalBytes } : undefined;
}
