import { once } from "node:events";
import { Worker } from "node:worker_threads";
import { JobError } from "../../core/errors.js";
import { EventQueue } from "../../core/async/event-queue.js";
import type { ModelPackage } from "../../runtime/packages/model-package.js";
import type {
  EngineReply,
  EngineRequest,
  EngineSetup,
  StepItem,
  StepRun,
  TextEvent,
  TextJob,
  TextModelInfo,
} from "./request/request.js";

export interface TextEngineOptions {
  /** CPU threads of the decoder. */
  readonly threads: number;
  /** Most bytes of caches; 4 GiB where absent. */
  readonly maxCacheBytes?: number;
  /** Most bytes of prompts that are remembered for later ones; none where absent. */
  readonly promptCacheBytes?: number | undefined;
  /** Told of every run of the graph, for measurements. */
  readonly onRun?: ((run: StepRun) => void) | undefined;
}

/** A chat model in a thread of its own that continues many requests in one run of its graph. */
export interface TextEngine {
  readonly info: TextModelInfo;
  /**
   * Text as it becomes certain, of all choices, and at last `end` with the usage. Throws `JobError`;
   * an aborted signal, or leaving the loop, frees the request's rows before the next step.
   */
  generate(job: TextJob, signal: AbortSignal): AsyncIterable<TextEvent>;
  close(): Promise<void>;
}

/** Opens the package. Throws a sentence that names what is missing or cannot be used. */
export async function openTextEngine(
  model: ModelPackage,
  { threads, maxCacheBytes, promptCacheBytes, onRun = () => {} }: TextEngineOptions,
): Promise<TextEngine> {
  const workerData: EngineSetup = {
    model,
    threads,
    promptCacheBytes,
    ...(maxCacheBytes !== undefined && { maxCacheBytes }),
  };
  const thread = new Worker(new URL("./engine-thread.js", import.meta.url), { workerData });
  const first = await firstReply(thread);
  if (first.type === "ready") return serveThread(thread, first.info, onRun);
  await thread.terminate();
  throw new Error(first.type === "open-failed" ? first.message : "unexpected reply");
}

function firstReply(thread: Worker): Promise<EngineReply> {
  return new Promise((resolve, reject) => {
    thread.once("message", resolve);
    thread.once("error", reject);
    thread.once("exit", () => reject(new Error("the text engine ended before it was open")));
  });
}

type Pending = Map<number, EventQueue<TextEvent>>;

function serveThread(
  thread: Worker,
  info: TextModelInfo,
  onRun: (run: StepRun) => void,
): TextEngine {
  const pending: Pending = new Map();
  let failure: JobError | undefined;
  let lastId = 0;
  const send = (request: EngineRequest) => thread.postMessage(request);
  const failAll = (message: string) => {
    failure ??= new JobError("inference_crashed", message);
    for (const queue of pending.values()) queue.fail(failure);
    pending.clear();
  };
  thread.on("message", (reply: EngineReply) => {
    if (reply.type !== "step") return;
    for (const run of reply.runs) onRun(run);
    for (const item of reply.items) deliver(pending, item);
  });
  thread.on("error", (error) => failAll(`the text engine failed: ${error.message}`));
  thread.on("exit", () => failAll("the text engine has ended"));

  async function* generate(job: TextJob, signal: AbortSignal): AsyncGenerator<TextEvent> {
    signal.throwIfAborted();
    if (failure) throw failure;
    lastId += 1;
    const id = lastId;
    const queue = new EventQueue<TextEvent>();
    pending.set(id, queue);
    const abort = () => queue.fail(abortReason(signal));
    signal.addEventListener("abort", abort, { once: true });
    send({ type: "generate", id, job });
    try {
      yield* queue;
    } finally {
      signal.removeEventListener("abort", abort);
      if (pending.delete(id) && !failure) send({ type: "cancel", id });
    }
  }

  return {
    info,
    generate,
    async close() {
      if (failure) return;
      const exited = once(thread, "exit");
      send({ type: "close" });
      await exited;
    },
  };
}

function deliver(pending: Pending, item: StepItem): void {
  const queue = pending.get(item.id);
  if (queue === undefined) return;
  if ("failure" in item) {
    const { code, message, param } = item.failure;
    queue.fail(new JobError(code, message, param === undefined ? {} : { param }));
    pending.delete(item.id);
    return;
  }
  for (const event of item.events) {
    queue.push(event);
    if (event.type !== "end") continue;
    queue.end();
    pending.delete(item.id);
  }
}

function abortReason({ reason }: AbortSignal): Error {
  return reason instanceof Error ? reason : new Error(String(reason));
}
