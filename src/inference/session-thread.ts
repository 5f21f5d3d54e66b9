/** The thread side of `session.ts`: holds ONNX sessions and runs them, one run at a time. */
import { parentPort, workerData } from "node:worker_threads";
import { InferenceSession, Tensor as OrtTensor } from "onnxruntime-node";
import type { SessionSetup, ThreadReply, ThreadRequest } from "./session.js";
import type { Tensor, TensorData, Tensors } from "./tensor.js";

const port = parentPort;
if (port === null) throw new Error("session-thread.js runs inside a worker thread only");
const sessions = new Map<string, InferenceSession>();
// session.ts starts this thread and gives it nothing else.
// oxlint-disable-next-line typescript/no-unsafe-type-assertion
let queue = open(workerData as SessionSetup);

port.on("message", (request: ThreadRequest) => {
  queue = queue.then(() => (request.type === "close" ? close() : run(request)));
});

async function open(setup: SessionSetup): Promise<void> {
  try {
    for (const [role, path] of Object.entries(setup.graphs)) {
      const session = await InferenceSession.create(path, {
        executionProviders: [...setup.providers],
        intraOpNumThreads: setup.threads,
        interOpNumThreads: 1,
        graphOptimizationLevel: "all",
      });
      sessions.set(role, session);
    }
    reply({ type: "ready" });
  } catch (thrown) {
    reply({ type: "open-failed", message: messageOf(thrown) });
  }
}

async function run(request: Extract<ThreadRequest, { type: "run" }>): Promise<void> {
  try {
    const session = sessions.get(request.role);
    if (session === undefined) throw new Error(`no graph has the role ${request.role}`);
    const feeds: Record<string, OrtTensor> = {};
    for (const [name, tensor] of Object.entries(request.feeds)) feeds[name] = toOrt(tensor);
    const startedAtMs = unixMs();
    const results = await session.run(feeds);
    const timing = { role: request.role, startedAtMs, endedAtMs: unixMs() };
    const outputs: Record<string, Tensor> = {};
    for (const [name, value] of Object.entries(results)) outputs[name] = fromOrt(value);
    reply({ type: "ran", id: request.id, outputs, run: timing }, buffersOf(outputs));
  } catch (thrown) {
    reply({ type: "run-failed", id: request.id, message: messageOf(thrown) });
  }
}

async function close(): Promise<void> {
  for (const session of sessions.values()) await session.release();
  port?.close();
}

/** The same clock in every thread. */
function unixMs(): number {
  return performance.timeOrigin + performance.now();
}

function reply(message: ThreadReply, transfer: ArrayBuffer[] = []): void {
  port?.postMessage(message, transfer);
}

function toOrt({ type, data, dims }: Tensor): OrtTensor {
  // A tensor's type and the class of its data go together; the union has lost the pairing.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  return new OrtTensor(type, data as never, dims);
}

function fromOrt({ type, data, dims }: OrtTensor): Tensor {
  if (!isOurs(type) || !isTensorData(data)) throw new Error(`outputs of type ${type} are not read`);
  return { type, data, dims };
}

function isOurs(type: string): type is Tensor["type"] {
  return ["float32", "int64", "int32", "uint8"].includes(type);
}

function isTensorData(data: unknown): data is TensorData {
  return [Float32Array, BigInt64Array, Int32Array, Uint8Array].some((kind) => data instanceof kind);
}

/** Each output's memory once: two outputs may be views of one buffer. */
function buffersOf(outputs: Tensors): ArrayBuffer[] {
  const buffers = Object.values(outputs).map(({ data }) => data.buffer);
  return [...new Set(buffers)].filter((buffer) => buffer instanceof ArrayBuffer);
}

function messageOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}
