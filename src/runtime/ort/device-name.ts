import { readdir, readFile } from "node:fs/promises";
import { cpus } from "node:os";
import { join } from "node:path";

const NVIDIA = "/proc/driver/nvidia/gpus";

/** What providers compute on, for people: the name of the first GPU, or of the processor. */
export async function deviceName(providers: readonly string[]): Promise<string> {
  const [first = "cpu"] = providers;
  if (first === "cpu") return cpus()[0]?.model.trim() ?? "cpu";
  return (await nvidiaName()) ?? first;
}

/** `Model:` of /proc/driver/nvidia/gpus/<address>/information. */
async function nvidiaName(): Promise<string | undefined> {
  const [address] = await readdir(NVIDIA).catch(() => []);
  if (address === undefined) return undefined;
  const text = await readFile(join(NVIDIA, address, "information"), "utf8").catch(() => "");
  return /^Model:\s*(.+)$/m.exec(text)?.[1]?.trim();
}
