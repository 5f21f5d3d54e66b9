import { randomUUID } from "node:crypto";
import type { Dirent } from "node:fs";
import {
  type FileHandle,
  mkdir,
  open,
  readdir,
  readlink,
  rename,
  rm,
  stat,
} from "node:fs/promises";
import { hostname } from "node:os";
import { dirname, join, relative, resolve } from "node:path";
import { Readable } from "node:stream";
import type { Artifact } from "../core/artifact.js";
import { JobError } from "../core/errors.js";
import { isProcessAlive } from "../core/processes.js";
import {
  type ArtifactPut,
  type ArtifactStore,
  type ByteRange,
  checkedId,
  checkedPrefix,
  createDigest,
  probeStore,
  readChunks,
  throwIfAborted,
} from "./artifact-store.js";

/** Unfinished files; the leading dot keeps the folder out of every id and list. */
const UNFINISHED = ".unfinished";
/** Who writes a file, in its name: `host.process.uuid`. */
const OWNER = /^(.+)\.(\d+)\.[0-9a-f-]{36}$/;
/** A file that nobody has written to for so long is abandoned, in milliseconds; so is a dead process's. */
const ABANDONED_MS = 3_600_000;

/** Artifacts as files below one folder: the id is the relative path. */
export function createLocalStore(folder: string): ArtifactStore {
  return new LocalStore(resolve(folder));
}

class LocalStore implements ArtifactStore {
  readonly #root: string;
  readonly #host = nameHost();
  #sweptAtMs = -Infinity;

  constructor(root: string) {
    this.#root = root;
  }

  async putFile(put: ArtifactPut, path: string, signal?: AbortSignal): Promise<Artifact> {
    throwIfAborted(signal);
    return this.#put(put, readChunks(path), signal);
  }

  async putBytes(put: ArtifactPut, bytes: Uint8Array): Promise<Artifact> {
    return this.#put(put, Readable.from([Buffer.from(bytes)]));
  }

  async openRead(id: string, range?: ByteRange): Promise<Readable> {
    const file = await this.#open(id);
    try {
      const { size } = await file.stat();
      if (range !== undefined && range.start >= size)
        throw new JobError(
          "range_not_satisfiable",
          `range must start before byte ${size}, got ${range.start}`,
        );
    } catch (problem) {
      await file.close();
      throw problem;
    }
    return file.createReadStream(range);
  }

  async readBytes(id: string): Promise<Uint8Array> {
    const file = await this.#open(id);
    try {
      return await file.readFile();
    } finally {
      await file.close();
    }
  }

  async findSize(id: string): Promise<number | undefined> {
    const found = await stat(join(this.#root, checkedId(id))).catch((thrown: unknown) => {
      if (!isMissing(thrown)) throw thrown;
    });
    return found?.isFile() === true ? found.size : undefined;
  }

  async removeAll(prefix: string): Promise<number> {
    const ids = await this.list(checkedPrefix(prefix));
    await rm(join(this.#root, prefix), { recursive: true, force: true });
    return ids.length;
  }

  async list(prefix: string): Promise<readonly string[]> {
    const folder = join(this.#root, prefix === "" ? "" : checkedPrefix(prefix));
    const entries = await readTree(folder);
    return entries
      .filter((entry) => entry.isFile())
      .map((entry) => relative(this.#root, join(entry.parentPath, entry.name)))
      .filter((id) => !id.startsWith(UNFINISHED))
      .toSorted();
  }

  async probe(): Promise<void> {
    await probeStore(this, this.#root);
  }

  async close(): Promise<void> {
    // Holds nothing open between calls.
  }

  /** Writes beside the artifacts, syncs, then renames: a reader sees all of a file or none. */
  async #put(
    put: ArtifactPut,
    source: AsyncIterable<Buffer>,
    signal?: AbortSignal,
  ): Promise<Artifact> {
    const target = join(this.#root, checkedId(put.id));
    const name = `${await this.#host}.${process.pid}.${randomUUID()}`;
    const unfinished = join(this.#root, UNFINISHED, name);
    const digest = createDigest();
    await mkdir(dirname(unfinished), { recursive: true });
    await this.#sweep();
    try {
      await writeSynced(unfinished, digest.pass(source), signal);
      await mkdir(dirname(target), { recursive: true });
      await rename(unfinished, target);
      await syncFolder(dirname(target));
    } finally {
      await rm(unfinished, { force: true });
    }
    return digest.describe(put);
  }

  /** Removes what killed processes have left, when this one begins to write and hourly. */
  async #sweep(): Promise<void> {
    const nowMs = Date.now();
    if (nowMs - this.#sweptAtMs < ABANDONED_MS) return;
    this.#sweptAtMs = nowMs;
    const folder = join(this.#root, UNFINISHED);
    for (const name of await readdir(folder)) {
      const path = join(folder, name);
      const [, host, processId] = OWNER.exec(name) ?? [];
      const isDead = host === (await this.#host) && !isProcessAlive(Number(processId));
      const { mtimeMs } = await stat(path).catch(() => ({ mtimeMs: nowMs }));
      if (isDead || nowMs - mtimeMs > ABANDONED_MS) await rm(path, { force: true });
    }
  }

  async #open(id: string): Promise<FileHandle> {
    const path = join(this.#root, checkedId(id));
    const file = await open(path, "r").catch((cause: unknown) => {
      if (isMissing(cause))
        throw new JobError("not_found", `there is no artifact ${id}`, { cause });
      throw cause;
    });
    if ((await file.stat()).isFile()) return file;
    await file.close();
    throw new JobError("not_found", `there is no artifact ${id}`);
  }
}

/** Where a process id means one process: containers of one host may share its name, not their processes. */
async function nameHost(): Promise<string> {
  const space = await readlink("/proc/self/ns/pid").catch(() => "");
  return `${hostname()}-${space.replace(/\D/g, "")}`;
}

async function writeSynced(
  path: string,
  chunks: AsyncIterable<Buffer>,
  signal?: AbortSignal,
): Promise<void> {
  const file = await open(path, "wx");
  try {
    for await (const chunk of chunks) {
      throwIfAborted(signal);
      await file.writeFile(chunk);
    }
    await file.sync();
    throwIfAborted(signal);
  } finally {
    await file.close();
  }
}

/** Nothing where there is no folder. One inside of it that goes meanwhile ends the reading, which begins anew. */
async function readTree(folder: string): Promise<Dirent[]> {
  for (;;) {
    try {
      return await readdir(folder, { recursive: true, withFileTypes: true });
    } catch (thrown) {
      if (!isMissing(thrown)) throw thrown;
      const isThere = await stat(folder).catch(() => undefined);
      if (isThere?.isDirectory() !== true) return [];
    }
  }
}

async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, "r");
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

function isMissing(thrown: unknown): boolean {
  const code = thrown instanceof Error && "code" in thrown ? thrown.code : undefined;
  return code === "ENOENT" || code === "ENOTDIR";
}
