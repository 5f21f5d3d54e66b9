/** The thread side of `session.ts`: holds ONNX graphs and runs them, one run at a time. */
import { parentPort } from "node:worker_threads";
import { messageOf } from "../../core/errors.js";
import { unixMs } from "../../core/time.js";
import { freeMemory } from "./free-memory.js";
import { useGraphCache } from "./graph-cache-folder.js";
import { type Feeds, openGraphs, type Graphs, type GraphsSetup } from "./graphs.js";
import type { ThreadReply, ThreadRequest } from "./session.js";
import type { Tensors } from "../tensors/tensor.js";

const port = parentPort;
if (port === null) throw new Error("session-thread.js runs inside a worker thread only");
let graphs: Graphs | undefined;
let queue = Promise.resolve();

port.on("message", (request: ThreadRequest) => {
  queue = queue.then(() => serve(request));
});

async function open(setup: GraphsSetup): Promise<void> {
  try {
    graphs = await openGraphs(setup);
    reply({ type: "ready", info: graphs.info });
  } catch (thrown) {
    reply({ type: "open-failed", message: messageOf(thrown) });
  }
}

async function serve(request: ThreadRequest): Promise<void> {
  if (request.type === "open") {
    useGraphCache(request.cacheFolder);
    await open(request.setup);
  } else if (request.type === "run") await run(request);
  else if (request.type === "put") put(request.tensors);
  else if (request.type === "drop") graphs?.free(request.names);
  else {
    await graphs?.close();
    port?.close();
  }
}

async function run(request: Extract<ThreadRequest, { type: "run" }>): Promise<void> {
  const { id, role, feeds, options } = request;
  try {
    if (graphs === undefined) throw new Error("the graphs are not open");
    const startedAtMs = unixMs();
    const outputs = await graphs.run(role, feeds, options);
    const timing = { role, startedAtMs, endedAtMs: unixMs() };
    reply({ type: "ran", id, outputs, run: timing }, buffersOf(outputs));
  } catch (thrown) {
    reply({ type: "run-failed", id, message: messageOf(thrown) });
  } finally {
    freeFeeds(feeds);
  }
}

/** Below it freeing at once takes longer than it is worth. */
const LARGE_BYTES = 65_536;

/** What came by value is this thread's own, which may be idle for long before it collects garbage. */
function freeFeeds(feeds: Feeds): void {
  for (const feed of Object.values(feeds))
    if (!("kept" in feed) && feed.data.byteLength >= LARGE_BYTES) freeMemory(feed.data);
}

/** What cannot be kept is missed by the run that wants it, which can say so. */
function put(tensors: Tensors): void {
  for (const [name, tensor] of Object.entries(tensors)) {
    try {
      graphs?.put(name, tensor);
    } catch {
      graphs?.drop([name]);
    }
  }
}

function reply(message: ThreadReply, transfer: ArrayBuffer[] = []): void {
  port?.postMessage(message, transfer);
}

/** Each output's memory once: two outputs may be views of one buffer. */
function buffersOf(outputs: Tensors): ArrayBuffer[] {
  const buffers = Object.values(outputs).map(({ data }) => data.buffer);
  return [...new Set(buffers)].filter((buffer) => buffer instanceof ArrayBuffer);
}
