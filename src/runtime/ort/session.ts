import { once } from "node:events";
import { Worker } from "node:worker_threads";
import { JobError } from "../../core/errors.js";
import type { GraphRun } from "../../core/modality.js";
import { graphCacheFolder } from "./graph-cache-folder.js";
import type { Feeds, GraphsSetup, RunOptions } from "./graphs.js";
import { toRunError } from "./run-error.js";
import type { GraphInfo, Tensors } from "../tensors/tensor.js";

export type ThreadRequest =
  | {
      readonly type: "open";
      readonly setup: GraphsSetup;
      /** Where optimised graphs are kept; undefined = nowhere. */
      readonly cacheFolder: string | undefined;
    }
  | {
      readonly type: "run";
      readonly id: number;
      readonly role: string;
      readonly feeds: Feeds;
      readonly options: RunOptions;
    }
  | { readonly type: "put"; readonly tensors: Tensors }
  | { readonly type: "drop"; readonly names: readonly string[] }
  | { readonly type: "close" };

export type ThreadReply =
  | { readonly type: "ready"; readonly info: Readonly<Record<string, GraphInfo>> }
  | { readonly type: "open-failed"; readonly message: string }
  | {
      readonly type: "ran";
      readonly id: number;
      readonly outputs: Tensors;
      readonly run: GraphRun;
    }
  | { readonly type: "run-failed"; readonly id: number; readonly message: string };

/** ONNX graphs in a thread of their own: `session.run()` blocks only that thread's event loop. */
export interface SessionThread {
  /** What each graph declares, by role. */
  readonly info: Readonly<Record<string, GraphInfo>>;
  /** Runs are served in order. A failed run rejects and leaves the thread usable. */
  run(role: string, feeds: Feeds, options?: RunOptions): Promise<Tensors>;
  /** Frees kept tensors, after the runs asked for so far. */
  drop(names: readonly string[]): void;
  close(): Promise<void>;
}

/** A thread that can be given tensors to keep. */
export interface KeepingThread extends SessionThread {
  /** Keeps tensors there under their names, before the runs asked for from now on. */
  put(tensors: Tensors): void;
}

interface Waiter {
  readonly resolve: (outputs: Tensors) => void;
  readonly reject: (error: Error) => void;
}

let spare: Worker | undefined;
const starting = new Set<Promise<unknown>>();

/** Starts a thread whose graphs are not known yet: it loads ONNX Runtime while the process finds them out. */
export function startSpareThread(): void {
  const thread = startThread();
  spare = thread;
  // What kept it from starting is told by the thread that is started in its place.
  thread.once("error", () => {
    if (spare === thread) spare = undefined;
  });
}

/** Ends the spare thread where no graphs have taken it, once it has loaded what it loads. */
export function endSpareThread(): void {
  if (spare === undefined) return;
  // It replies nothing and ends.
  firstReply(spare).catch(() => {});
  spare.postMessage({ type: "close" } satisfies ThreadRequest);
  spare = undefined;
}

function takeThread(): Worker {
  const thread = spare ?? startThread();
  spare = undefined;
  return thread;
}

/** Resolves when no thread loads or opens anything: a process that exits amid that aborts. */
export async function threadsStarted(): Promise<void> {
  await Promise.all(starting);
}

function startThread(): Worker {
  return new Worker(new URL("./session-thread.js", import.meta.url));
}

/** Its first reply, or why there is none. */
function firstReply(thread: Worker): Promise<ThreadReply> {
  const replied = new Promise<ThreadReply>((resolve, reject) => {
    thread.once("message", resolve);
    thread.once("error", reject);
    thread.once("exit", (code) => reject(new Error(`the session thread ended (${code})`)));
  });
  const settled = replied.catch(() => {}).finally(() => starting.delete(settled));
  starting.add(settled);
  return replied;
}

/** Opens the graphs; rejects with the loader's sentence when one cannot be used. */
export async function openSessions(
  setup: GraphsSetup,
  onRun?: (run: GraphRun) => void,
): Promise<KeepingThread> {
  const thread = takeThread();
  const cacheFolder = graphCacheFolder();
  thread.postMessage({ type: "open", setup, cacheFolder } satisfies ThreadRequest);
  const first = await firstReply(thread);
  if (first.type !== "ready") {
    await thread.terminate();
    const reason = first.type === "open-failed" ? first.message : "unexpected reply";
    throw new Error(reason);
  }
  return serveThread(thread, first.info, onRun);
}

function serveThread(
  thread: Worker,
  info: SessionThread["info"],
  onRun: (run: GraphRun) => void = () => {},
): KeepingThread {
  const waiting = new Map<number, Waiter>();
  let lastId = 0;
  let failure: JobError | undefined;

  const failAll = (message: string) => {
    failure = new JobError("inference_crashed", message);
    for (const { reject } of waiting.values()) reject(failure);
    waiting.clear();
  };
  thread.on("message", (reply: ThreadReply) => {
    if (reply.type !== "ran" && reply.type !== "run-failed") return;
    const waiter = waiting.get(reply.id);
    waiting.delete(reply.id);
    if (reply.type === "ran") {
      onRun(reply.run);
      waiter?.resolve(reply.outputs);
    } else waiter?.reject(toRunError(reply.message));
  });
  thread.on("error", (error) => failAll(`the session thread failed: ${error.message}`));
  thread.on("exit", () => failAll("the session thread has ended"));

  return {
    info,
    run(role, feeds, options = {}) {
      if (failure) return Promise.reject(failure);
      const id = ++lastId;
      return new Promise((resolve, reject) => {
        waiting.set(id, { resolve, reject });
        thread.postMessage({ type: "run", id, role, feeds, options } satisfies ThreadRequest);
      });
    },
    put(tensors) {
      if (!failure) thread.postMessage({ type: "put", tensors } satisfies ThreadRequest);
    },
    drop(names) {
      if (!failure) thread.postMessage({ type: "drop", names } satisfies ThreadRequest);
    },
    async close() {
      if (failure) return;
      const exited = once(thread, "exit");
      thread.postMessage({ type: "close" } satisfies ThreadRequest);
      await exited;
    },
  };
}
