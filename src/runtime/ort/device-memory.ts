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
 * Memory of the numbered GPUs, of all their users; undefined where the models run on the processor alone or no
 * driver tells. What nvidia-smi says of NVIDIA GPUs, what amdgpu says of the first AMD one.
 */
export async function readDeviceMemory(
  providers: readonly string[],
  devices: readonly number[] = [0],
): Promise<DeviceMemory | undefined> {
  if (providers.every((provider) => provider === "cpu")) return undefined;
  return (await askNvidia(devices)) ?? (await readAmd());
}

async function askNvidia(devices: readonly number[]): Promise<DeviceMemory | undefined> {
  const asked = await promisify(execFile)("nvidia-smi", QUERY, { timeout: QUERY_MS }).catch(
    () => undefined,
  );
  const rows = [...(asked?.stdout ?? "").matchAll(/^(\d+), (\d+)$/gm)];
  const chosen = devices.flatMap((device) => (rows[device] ? [rows[device].map(Number)] : []));
  const sum = (column: number) => chosen.reduce((total, row) => total + (row[column] ?? 0), 0);
  return toMemory(sum(1) * MEBIBYTE, sum(2) * MEBIBYTE);
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
