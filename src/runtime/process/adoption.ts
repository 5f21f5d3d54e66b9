import { createHash } from "node:crypto";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { lstat, readdir, readFile, rm, stat } from "node:fs/promises";
import { connect } from "node:net";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { loadModelPackage, statedFiles } from "../packages/model-package.js";
import { type InferenceChannel, openChannel } from "./channel.js";
import type { Adopted, InferenceReply, InferenceRequest, InferenceSetup } from "./protocol.js";

/** Inference processes that wait for the next worker: how they are found, and which fits. */

/** Where inference processes wait, and how long. */
export interface AdoptionOptions {
  /** Folder of their sockets, which nobody but this user may enter. */
  readonly folder: string;
  /** How long one without a worker keeps its models, in milliseconds. */
  readonly waitMs: number;
}

/** sun_path of unix(7), less its closing zero. */
const MOST_PATH_BYTES = 107;
/** One that is in the middle of something, or of its end, gets this long to answer, in milliseconds. */
const ANSWER_MS = 12_000;
/** One that was asked to end frees its device within this time, or is killed, in milliseconds. */
const END_MS = 5_000;
const POLL_MS = 20;

/** Path of the socket of this process; throws where the system would take no path that long. */
export function socketPath(folder: string, device = 0): string {
  const path = join(folder, `${device}-${process.pid}-${processStart(process.pid)}.sock`);
  const bytes = Buffer.byteLength(path);
  if (bytes > MOST_PATH_BYTES)
    throw new Error(
      `a socket's path has at most ${MOST_PATH_BYTES} bytes, ${path} has ${bytes}: choose a shorter DATA_DIR, or ADOPT_MS=0`,
    );
  return path;
}

/** Throws unless the folder is this user's, and nobody else's in any way. */
export async function checkFolder(folder: string): Promise<void> {
  if (process.platform !== "linux") throw new Error("ADOPT_MS needs Linux: set it to 0");
  const found = await lstat(folder);
  const [own, mode] = [process.getuid?.(), found.mode & 0o777];
  if (!found.isDirectory() || found.uid !== own || (mode & 0o077) !== 0)
    throw new Error(
      `${folder} must be a folder of user ${own} with mode 700, it is user ${found.uid}'s with mode ${mode.toString(8)}: whoever writes there could take the models' place`,
    );
}

/** Settings of the environment that change what the process computes with. */
const MATTERS = /^(CUDA|NVIDIA|ORT|OMP|LD|NODE|UV|MALLOC|TMPDIR|PATH$)/;

/**
 * What two processes must agree in to serve the same: build, Node, libraries, setup, environment, and
 * the packages' files by their hashes, sizes and times. One of another key is of no use.
 */
export async function adoptionKey(setup: InferenceSetup, entryPath: string): Promise<string> {
  // The folder of the compiled code, of which the entry is one file in `bin/`.
  const root = dirname(dirname(entryPath));
  const hash = createHash("sha256");
  // oxlint-disable-next-line node/no-process-env
  const environment = Object.entries(process.env)
    .filter(([name]) => MATTERS.test(name))
    .toSorted(([a], [b]) => a.localeCompare(b));
  const { versions, arch, execPath, execArgv } = process;
  hash.update(JSON.stringify([versions, arch, execPath, execArgv, setup, environment]));
  // It names the exact version of every library.
  hash.update(await readFile(join(root, "../package.json")).catch(() => ""));
  // Hundreds of small files: one after the other and without a thread in between is ten times as fast.
  for (const path of [entryPath, ...codeOf(root)]) hash.update(path).update(readFileSync(path));
  for (const modelPath of setup.modelPaths) {
    hash.update(await readFile(join(modelPath, "model.json")));
    for (const { path, sha256 } of statedFiles(await loadModelPackage(modelPath))) {
      const { size, mtimeNs, ino } = await stat(path, { bigint: true });
      hash.update([path, sha256, size, mtimeNs, ino].join("\0"));
    }
  }
  return hash.digest("hex");
}

/** The compiled files below a folder. */
function codeOf(root: string): string[] {
  const entries = readdirSync(root, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile() && entry.name.endsWith(".js"))
    .map(({ parentPath, name }) => join(parentPath, name))
    .toSorted((a, b) => a.localeCompare(b));
}

/** A process that was adopted, still silent: what it sends from now on comes to `onMessage`. */
export interface AdoptedProcess {
  readonly channel: InferenceChannel;
  readonly state: Adopted;
  onMessage: (replies: readonly InferenceReply[]) => void;
  onClose: () => void;
}

/**
 * The process of this device and key that waits in the folder, if there is one. One of another key is
 * asked to end, and has gone when this resolves; one that has a worker is left alone.
 */
export async function adopt(
  folder: string,
  key: string,
  device = 0,
): Promise<AdoptedProcess | undefined> {
  const names = await readdir(folder);
  for (const name of names.filter((one) => one.startsWith(`${device}-`))) {
    const answer = await ask(join(folder, name), key);
    if (answer !== undefined && answer !== "other") return answer;
    if (answer === "other") await awaitEnd(name);
  }
  return undefined;
}

async function ask(path: string, key: string): Promise<AdoptedProcess | "other" | undefined> {
  const socket = connect(path);
  try {
    await once(socket, "connect");
  } catch {
    // Nobody listens: it died, and its socket stayed.
    await rm(path, { force: true });
    return undefined;
  }
  return await new Promise((resolve) => {
    const give = (answer: AdoptedProcess | "other" | undefined) => {
      clearTimeout(timer);
      resolve(answer);
    };
    const giveUp = () => {
      socket.destroy();
      give(undefined);
    };
    const timer = setTimeout(giveUp, ANSWER_MS);
    let adopted: AdoptedProcess | undefined;
    const onMessage = (replies: readonly InferenceReply[]) => {
      if (adopted !== undefined) return adopted.onMessage(replies);
      for (const reply of replies) {
        if (reply.type === "adopted") {
          adopted = { channel, state: reply, onMessage() {}, onClose() {} };
          give(adopted);
        } else if (reply.type === "refused") give(reply.isOther ? "other" : undefined);
      }
    };
    const onClose = () => (adopted === undefined ? give(undefined) : adopted.onClose());
    const channel = openChannel<InferenceRequest, readonly InferenceReply[]>(socket, {
      onMessage,
      onClose,
    });
    channel.send({ type: "adopt", key, processId: process.pid });
  });
}

/** Resolves when the process that a socket's name names has gone. */
async function awaitEnd(name: string): Promise<void> {
  const [, processId, start] = name.replace(".sock", "").split("-");
  await awaitExit(Number(processId), start, END_MS);
}

/** Resolves when a process that is no child has gone, killed after so many milliseconds. */
export async function awaitExit(
  processId: number,
  start: string | undefined,
  killAfterMs: number,
): Promise<void> {
  const from = performance.now();
  while (start !== undefined && processStart(processId) === start) {
    if (performance.now() - from > killAfterMs) killProcess(processId, start);
    await sleep(POLL_MS);
  }
}

/** Kills a process and its group, unless its id names another by now. */
export function killProcess(processId: number, start: string | undefined): void {
  if (start !== undefined && processStart(processId) === start) killGroup(processId);
}

/** Kills the group of a process that is there for certain. */
export function killGroup(processId: number): void {
  try {
    process.kill(-processId, "SIGKILL");
  } catch {
    // ESRCH: it went between the look and the signal.
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
