import { once } from "node:events";
import { existsSync, rmSync } from "node:fs";
import { mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Duplex } from "node:stream";
import { fileURLToPath } from "node:url";
import { Worker } from "node:worker_threads";
import { Client } from "pg";
import { extract } from "tar";
import { createMutex } from "../../../core/async/mutex.js";
import { systemCodeOf } from "../../../core/errors.js";
import { isProcessAlive } from "../../../core/processes.js";
import { makePrivateFolder, makePrivateInside } from "../../../storage/index.js";
import { createNames, parserOf } from "./postgres.js";
import { createDb } from "./sql.js";

/** Bytes of Postgres' protocol, both ways, or the end. */
export type ToThread = Uint8Array | "close";
export type FromThread = Uint8Array | "ready" | "closed";

/** A ledger inside this process, in a thread of its own and a folder that no other process may have. */
export async function openPGlite(dataDir: string) {
  const folder = join(dataDir, "database");
  await makePrivateFolder(dataDir, "DATA_DIR");
  const unlock = await lockFolder(dataDir);
  await unpackCluster(folder);
  await makePrivateFolder(folder, "DATA_DIR");
  const thread = await startThread(folder);
  // What it makes at its start is for others to read, whatever the umask says.
  await makePrivateInside(folder);
  const client = new Client({
    stream: () => thread.socket,
    user: "postgres",
    database: "postgres",
    types: { getTypeParser: parserOf },
  });
  // The statement under way fails with it, and each that follows.
  client.on("error", () => {});
  await client.connect();
  // One session: a statement of another caller would land inside an open transaction.
  const mutex = createMutex();
  const nameOf = createNames();
  const db = createDb(async () => {
    const release = await mutex.enter();
    return {
      query: async (text, values) =>
        await client.query({ name: nameOf(text, values), text, values: [...values] }),
      release,
    };
  });
  return {
    ...db,
    engine: "pglite" as const,
    listen: async (channel: string, onPayload: (payload: string) => void) => {
      const take = (notice: {
        readonly channel: string;
        readonly payload?: string | undefined;
      }) => {
        if (notice.channel === channel) onPayload(notice.payload ?? "");
      };
      client.on("notification", take);
      await db.query(`LISTEN ${channel}`, []);
      // Somebody else may listen over this session.
      return async (): Promise<void> => void client.off("notification", take);
    },
    async close(): Promise<void> {
      const release = await mutex.enter();
      await thread.close();
      release();
      await unlock();
    },
  };
}

/** A cluster without tables; made by the build, or by PGlite where there is none. */
const CLUSTER = fileURLToPath(new URL("./cluster.tgz", import.meta.url));

/** Where there is no database yet: one that was interrupted has another name. */
async function unpackCluster(folder: string): Promise<void> {
  const draft = `${folder}.new`;
  if (existsSync(folder) || !existsSync(CLUSTER)) return;
  await rm(draft, { recursive: true, force: true });
  await mkdir(draft);
  // Strict, a full disk is an error; PGlite's names begin with a slash, which would be one, too.
  await extract({ file: CLUSTER, cwd: draft, strip: 1, strict: true });
  await rename(draft, folder);
}

/** Starts the database. Rejects with what it dies of before it is ready. */
async function startThread(folder: string) {
  const thread = new Worker(new URL("./pglite-thread.js", import.meta.url), { workerData: folder });
  await once(thread, "message");
  const socket = new ThreadSocket(thread);
  const close = async (): Promise<void> => {
    socket.destroy();
    const closed = once(thread, "message");
    thread.postMessage("close" satisfies ToThread);
    await closed;
    await thread.terminate();
  };
  return { socket, close };
}

/** What `pg` takes for the socket of a server. */
class ThreadSocket extends Duplex {
  readonly #thread: Worker;

  constructor(thread: Worker) {
    super({ decodeStrings: true });
    this.#thread = thread;
    thread.on("message", (message: FromThread) => {
      if (typeof message !== "string") this.push(message);
    });
    thread.on("error", (error) => this.destroy(error));
  }

  connect(): void {
    queueMicrotask(() => this.emit("connect"));
  }

  setNoDelay(): void {}

  ref(): void {
    this.#thread.ref();
  }

  unref(): void {
    this.#thread.unref();
  }

  override _read(): void {}

  override _write(bytes: Buffer, _encoding: string, done: () => void): void {
    this.#send(bytes);
    done();
  }

  /** The messages of one statement come together. */
  override _writev(writes: { readonly chunk: Buffer }[], done: () => void): void {
    this.#send(Buffer.concat(writes.map(({ chunk }) => chunk)));
    done();
  }

  #send(bytes: Buffer): void {
    const message = Uint8Array.from(bytes);
    this.#thread.postMessage(message satisfies ToThread, [message.buffer]);
  }
}

/**
 * Keeps a folder for this process: two would spoil the database in it. The error names
 * the process that has it; one that is gone, or had this very id before a restart, is passed over.
 */
async function lockFolder(folder: string): Promise<() => Promise<void>> {
  const path = join(folder, "owner.pid");
  const removeNow = () => rmSync(path, { force: true });
  const release = async () => {
    process.off("exit", removeNow);
    await rm(path, { force: true });
  };
  try {
    await writeFile(path, String(process.pid), { flag: "wx" });
    process.once("exit", removeNow);
    return release;
  } catch (thrown) {
    if (systemCodeOf(thrown) !== "EEXIST") throw thrown;
  }
  const owner = Number(await readFile(path, "utf8"));
  if (owner !== process.pid && isProcessAlive(owner)) {
    throw new Error(`${folder} is in use by process ${owner}: stop it, or choose another DATA_DIR`);
  }
  await writeFile(path, String(process.pid));
  process.once("exit", removeNow);
  return release;
}
