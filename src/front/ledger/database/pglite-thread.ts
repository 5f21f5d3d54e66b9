/** The thread side of `pglite.ts`: Postgres as WebAssembly, which speaks the protocol of a server. */
import { parentPort, workerData } from "node:worker_threads";
import { PGlite } from "@electric-sql/pglite";
import type { FromThread, ToThread } from "./pglite.js";

/**
 * Besides PGlite's own. Nothing is flushed to the disk (`-F`), so that no page can be torn by the end of
 * the process; one session needs few pages of its own beside those that the system keeps.
 */
const SETTINGS = {
  enable_seqscan: "off",
  jit: "off",
  plan_cache_mode: "force_generic_plan",
  full_page_writes: "off",
  shared_buffers: "16MB",
};

const port = parentPort;
if (port === null) throw new Error("pglite-thread.js is a thread");
const tell = (message: FromThread, transfer: ArrayBuffer[] = []) =>
  port.postMessage(message, transfer);
const startParams = Object.entries(SETTINGS).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
// pglite.ts starts this thread and gives it nothing else.
// oxlint-disable-next-line typescript/no-unsafe-type-assertion
const pglite = await PGlite.create(workerData as string, {
  startParams: [...PGlite.defaultStartParams, ...startParams],
});

port.on("message", (message: ToThread) => {
  if (message === "close") void close();
  else void answer(message);
});
tell("ready");

async function answer(request: Uint8Array): Promise<void> {
  const pieces: Uint8Array[] = [];
  // Each piece lies in memory that the next one overwrites.
  const onRawData = (piece: Uint8Array) => void pieces.push(piece.slice());
  await pglite.execProtocolRawStream(request, { onRawData });
  const bytes = new Uint8Array(pieces.reduce((sum, { byteLength }) => sum + byteLength, 0));
  let at = 0;
  for (const piece of pieces) {
    bytes.set(piece, at);
    at += piece.byteLength;
  }
  tell(bytes, [bytes.buffer]);
}

async function close(): Promise<void> {
  await pglite.close();
  tell("closed");
}
