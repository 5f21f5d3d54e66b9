import { readDeviceMemory } from "../../src/runtime/ort/device-memory.js";

const MEBIBYTE = 2 ** 20;

/** The most this process ever held, and what the GPU holds now, for the conditions of a result. */
export async function peakMemory(
  when: string,
  providers: readonly string[] = [],
): Promise<Record<string, number>> {
  const device = await readDeviceMemory(providers);
  return {
    [`peak memory MiB, ${when}`]: Math.round(process.resourceUsage().maxRSS / 1_024),
    ...(device && { [`device memory MiB, ${when}`]: Math.round(device.usedBytes / MEBIBYTE) }),
  };
}
