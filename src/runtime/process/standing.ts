import { rmSync } from "node:fs";
import { createServer } from "node:net";
import { Worker } from "node:worker_threads";
import { checkFolder, socketPath } from "./adoption.js";
import { openChannel, type WorkerChannel } from "./channel.js";
import type { InferenceReply, InferenceRequest, Standing } from "./protocol.js";

interface StandingOptions extends Standing {
  readonly device: number | undefined;
  /** A worker that may have this process; called while it has none. */
  readonly onAdopt: (channel: WorkerChannel) => void;
  readonly onMessage: (request: InferenceRequest) => void;
  /** The worker's connection has gone. */
  readonly onClose: (channel: WorkerChannel) => void;
  /** A worker of another key wants the device. */
  readonly onOther: () => void;
  readonly hasWorker: () => boolean;
}

const BEAT_MS = 250;

/** Listens for the next worker until the process ends. */
export async function standForAdoption(options: StandingOptions): Promise<void> {
  const { folder, device, key } = options;
  await checkFolder(folder);
  const path = socketPath(folder, device);
  const cells = new Int32Array(new SharedArrayBuffer(8));
  Atomics.store(cells, 1, process.ppid);
  setInterval(() => Atomics.add(cells, 0, 1), BEAT_MS).unref();
  new Worker(new URL("./orphan-watch.js", import.meta.url), { workerData: cells }).unref();
  // Where its output went may have gone with its worker.
  for (const stream of [process.stdout, process.stderr]) stream.on("error", () => {});
  const server = createServer((socket) => {
    let isWorker = false;
    const refuse = (isOther: boolean) => {
      channel.send([{ type: "refused", isOther }]);
      channel.end();
      if (isOther) options.onOther();
    };
    const onMessage = (request: InferenceRequest) => {
      if (isWorker) return options.onMessage(request);
      if (request.type !== "adopt") return void socket.destroy();
      if (options.hasWorker()) return refuse(false);
      if (request.key !== key) return refuse(true);
      isWorker = true;
      Atomics.store(cells, 1, request.processId);
      options.onAdopt(channel);
    };
    const onClose = () => isWorker && options.onClose(channel);
    const channel = openChannel<readonly InferenceReply[], InferenceRequest>(socket, {
      onMessage,
      onClose,
    });
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(path, resolve);
  });
  server.unref();
  process.once("exit", () => rmSync(path, { force: true }));
}
