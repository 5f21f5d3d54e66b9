import { readdir, readFile, readlink } from "node:fs/promises";

/** CPU time of a process and of all below it, the ended ones included, in milliseconds (Linux). */
export interface CpuMeter {
  /** Since the meter was made; NaN where the processes cannot be seen. */
  spentMs(): Promise<number>;
}

const TICK_MS = 10;

interface ProcessTime {
  readonly parent: number;
  readonly ownTicks: number;
  /** Of children that have ended. */
  readonly endedTicks: number;
}

/** Of the processes below `root` and of itself; `without` and what is below it counts for itself. */
export async function openCpuMeter(
  root: number | undefined,
  without: readonly number[] = [],
): Promise<CpuMeter> {
  const spentMs = async () => (root === undefined ? Number.NaN : treeMs(root, without));
  const before = await spentMs();
  return { spentMs: async () => (await spentMs()) - before };
}

/** A process and all below it. */
export async function listTree(root: number): Promise<number[]> {
  const times = await readTimes();
  const below = (pid: number): number[] => [
    pid,
    ...[...times].flatMap(([child, { parent }]) => (parent === pid ? below(child) : [])),
  ];
  return below(root);
}

async function treeMs(root: number, without: readonly number[]): Promise<number> {
  const times = await readTimes();
  const ticksBelow = (pid: number): number => {
    const own = times.get(pid);
    if (own === undefined || without.includes(pid)) return 0;
    const children = [...times].filter(([, { parent }]) => parent === pid);
    const below = children.reduce((sum, [child]) => sum + ticksBelow(child), 0);
    return own.ownTicks + own.endedTicks + below;
  };
  return ticksBelow(root) * TICK_MS;
}

/** proc(5): fields 4 and 14 to 17 of /proc/pid/stat are ppid, utime, stime, cutime and cstime in ticks. */
async function readTimes(): Promise<Map<number, ProcessTime>> {
  const times = new Map<number, ProcessTime>();
  for (const pid of await listProcesses()) {
    const stat = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => "");
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    const [parent, user, system, endedUser, endedSystem] = [1, 11, 12, 13, 14].map((at) =>
      Number(fields[at] ?? 0),
    );
    if (stat !== "")
      times.set(pid, {
        parent: parent ?? 0,
        ownTicks: (user ?? 0) + (system ?? 0),
        endedTicks: (endedUser ?? 0) + (endedSystem ?? 0),
      });
  }
  return times;
}

/** The process of this machine that listens on a port; undefined where none can be seen. */
export async function findListener(port: number): Promise<number | undefined> {
  const tables = await Promise.all(
    ["tcp", "tcp6"].map((name) => readFile(`/proc/net/${name}`, "utf8").catch(() => "")),
  );
  const inode = tables
    .join("\n")
    .split("\n")
    .map((line) => line.trim().split(/\s+/))
    .find(([, local, , state]) => state === LISTENING && local?.endsWith(hexadecimal(port)))?.[9];
  if (inode === undefined) return undefined;
  for (const pid of await listProcesses())
    if ((await listSockets(pid)).includes(`socket:[${inode}]`)) return pid;
  return undefined;
}

/** TCP_LISTEN of the kernel's tcp_states.h. */
const LISTENING = "0A";

function hexadecimal(port: number): string {
  return `:${port.toString(16).toUpperCase().padStart(4, "0")}`;
}

async function listProcesses(): Promise<number[]> {
  const names = await readdir("/proc").catch((): string[] => []);
  return names.filter((name) => /^\d+$/.test(name)).map(Number);
}

async function listSockets(pid: number): Promise<string[]> {
  const folder = `/proc/${pid}/fd`;
  const names = await readdir(folder).catch((): string[] => []);
  return await Promise.all(names.map((name) => readlink(`${folder}/${name}`).catch(() => "")));
}
