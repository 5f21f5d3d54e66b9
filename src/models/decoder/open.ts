import { Worker } from "node:worker_threads";
import { EventQueue } from "../../core/async/event-queue.js";
import { fromFailure } from "../../core/job.js";
import type { GraphRun } from "../../core/modality.js";
import type { ModelPackage } from "../../runtime/packages/model-package.js";
import {
  createThreadClient,
  firstReply,
  type ThreadClient,
  threadInfo,
} from "../../runtime/ort/thread-client.js";
import type {
  EngineReply,
  EngineRequest,
  EngineSetup,
  StepItem,
  TextEvent,
  TextJob,
  TextModelInfo,
} from "./request/request.js";

export interface TextEngineOptions {
  /** CPU threads of the decoder. */
  readonly threads: number;
  /** Most bytes of caches; 4 GiB by default. */
  readonly maxCacheBytes?: number;
  /** Most bytes of prompts that are remembered for later ones; none by default. */
  readonly promptCacheBytes?: number | undefined;
  /** Called after every run of the graph, for measurements. */
  readonly onRun?: ((run: GraphRun) => void) | undefined;
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

/** Opens the package. Throws an error that names what is missing or cannot be used. */
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
  const info = await threadInfo(thread, firstReply<TextModelInfo>(thread, NAME));
  return serveThread(thread, info, onRun);
}

const NAME = "the text engine";

type Client = ThreadClient<EngineRequest, EventQueue<TextEvent>>;

function serveThread(
  thread: Worker,
  info: TextModelInfo,
  onRun: (run: GraphRun) => void,
): TextEngine {
  const client: Client = createThreadClient(thread, NAME);
  thread.on("message", (reply: EngineReply) => {
    if (reply.type !== "step") return;
    for (const run of reply.runs) onRun(run);
    for (const item of reply.items) deliver(client, item);
  });

  async function* generate(job: TextJob, signal: AbortSignal): AsyncGenerator<TextEvent> {
    signal.throwIfAborted();
    const queue = new EventQueue<TextEvent>();
    const id = client.ask(queue, (own) => ({ type: "generate", id: own, job }));
    const abort = () => queue.fail(toError(signal.reason));
    signal.addEventListener("abort", abort, { once: true });
    try {
      yield* queue;
    } finally {
      signal.removeEventListener("abort", abort);
      if (client.forget(id)) client.post({ type: "cancel", id });
    }
  }

  return { info, generate, close: () => client.close({ type: "close" }) };
}

function deliver(client: Client, item: StepItem): void {
  const queue = client.find(item.id);
  if (queue === undefined) return;
  if ("failure" in item) {
    queue.fail(fromFailure(item.failure));
    client.forget(item.id);
    return;
  }
  for (const event of item.events) {
    queue.push(event);
    if (event.type !== "end") continue;
    queue.end();
    client.forget(item.id);
  }
}

function toError(reason: unknown): Error {
  return reason instanceof Error ? reason : new Error(String(reason));
}
