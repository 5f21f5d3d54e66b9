import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { mkdir, readFile, rename, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { z } from "zod";

export interface StatedFile {
  readonly path: string;
  readonly sha256: string;
  readonly byteLength: number;
}

/** Checks files against what is stated of them. */
export interface FileChecker {
  /** Throws an error that names the file where its length or SHA-256 differs. */
  check(file: StatedFile): Promise<void>;
  /** Keeps what was found for the next process, where there is a folder for it. */
  save(): Promise<void>;
}

/** A hash is only remembered of a file that was left alone this long before: within a tick of the clock a change would not show. */
const SETTLED_MS = 2_000;
const CHUNK_BYTES = 1 << 20;

const notes = z.record(z.string(), z.string());

/**
 * Reads each file whole, unless it did so before and the file's device, inode, length and times of change
 * (ctime, which no program can set) are what they were. Remembers in `folder` across processes.
 */
export async function createFileChecker(folder?: string): Promise<FileChecker> {
  const notePath = folder === undefined ? undefined : join(folder, "checked-files.json");
  const known = new Map(notePath === undefined ? [] : Object.entries(await readNotes(notePath)));
  let isChanged = false;
  return {
    async check({ path, sha256, byteLength }) {
      const before = await identify(path);
      if (before === undefined) throw new Error(`${path} is missing`);
      if (before.size !== BigInt(byteLength))
        throw new Error(`${path} must have ${byteLength} bytes, has ${before.size}`);
      if (known.get(path) === `${sha256} ${before.identity}`) return;
      const digest = await hashFile(path);
      if (digest !== sha256) throw new Error(`${path} must hash to ${sha256}, hashes to ${digest}`);
      if (Date.now() - before.changedMs < SETTLED_MS) return;
      known.set(path, `${sha256} ${before.identity}`);
      isChanged = true;
    },
    async save() {
      if (notePath === undefined || !isChanged) return;
      isChanged = false;
      const draft = `${notePath}.${process.pid}`;
      await writeFile(draft, JSON.stringify(Object.fromEntries(known)), { mode: 0o600 });
      await rename(draft, notePath);
    },
  };
}

/**
 * Makes the folder where it is missing. Throws where another user owns it or may write into it: what lies
 * there is believed.
 */
export async function openCacheFolder(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const { uid, mode } = await stat(folder);
  const own = process.getuid?.() ?? uid;
  if (uid !== own || (mode & 0o022) !== 0)
    throw new Error(
      `CACHE_DIR ${folder} must belong to the worker's user and be writable by nobody else`,
    );
}

async function readNotes(path: string): Promise<Readonly<Record<string, string>>> {
  try {
    return notes.parse(JSON.parse(await readFile(path, "utf8")));
  } catch {
    // None yet, or not whole: then everything is read.
    return {};
  }
}

async function identify(path: string) {
  const found = await stat(path, { bigint: true }).catch(() => undefined);
  if (found === undefined) return undefined;
  const { dev, ino, size, mtimeNs, ctimeNs } = found;
  const identity = [dev, ino, size, mtimeNs, ctimeNs].join(" ");
  return { identity, size, changedMs: Number(ctimeNs / 1_000_000n) };
}

/** SHA-256 of a file, in hexadecimal digits. */
export async function hashFile(path: string, signal?: AbortSignal): Promise<string> {
  const hash = createHash("sha256");
  const bytes = createReadStream(path, { highWaterMark: CHUNK_BYTES });
  await pipeline(bytes, hash, signal ? { signal } : {});
  return hash.digest("hex");
}
