import { Worker } from "node:worker_threads";
import type { GraphRun } from "../../core/modality.js";
import { graphCacheFolder } from "./graph-cache-folder.js";
import type { Feeds, GraphsSetup, RunOptions } from "./graphs.js";
import { toRunError } from "./run-error.js";
import { createThreadClient, firstReply, type OpenReply, threadInfo } from "./thread-client.js";
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
  | OpenReply<SessionThread["info"]>
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
  readonly fail: (error: Error) => void;
}

const NAME = "the session thread";

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
  openReply(spare).catch(() => {});
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
function openReply(thread: Worker): Promise<OpenReply<SessionThread["info"]>> {
  const replied = firstReply<SessionThread["info"]>(thread, NAME);
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
  const info = await threadInfo(thread, openReply(thread));
  return serveThread(thread, info, onRun);
}

function serveThread(
  thread: Worker,
  info: SessionThread["info"],
  onRun: (run: GraphRun) => void = () => {},
): KeepingThread {
  const client = createThreadClient<ThreadRequest, Waiter>(thread, NAME);
  thread.on("message", (reply: ThreadReply) => {
    if (reply.type !== "ran" && reply.type !== "run-failed") return;
    const waiter = client.find(reply.id);
    client.forget(reply.id);
    if (reply.type === "ran") {
      onRun(reply.run);
      waiter?.resolve(reply.outputs);
    } else waiter?.fail(toRunError(reply.message));
  });
  return {
    info,
    run: (role, feeds, options = {}) =>
      new Promise((resolve, fail) => {
        client.ask({ resolve, fail }, (id) => ({ type: "run", id, role, feeds, options }));
      }),
    put: (tensors) => client.post({ type: "put", tensors }),
    drop: (names) => client.post({ type: "drop", names }),
    close: () => client.close({ type: "close" }),
  };
}
