import { once } from "node:events";
import { Worker } from "node:worker_threads";
import { JobError } from "../core/errors.js";
import type { GraphRun } from "../core/modality.js";
import type { Tensors } from "./tensor.js";

export interface SessionSetup {
  /** Role → path of the graph. */
  readonly graphs: Readonly<Record<string, string>>;
  /** Threads one operator may use. */
  readonly threads: number;
  /** Execution providers in order of preference, e.g. `["cpu"]`. */
  readonly providers: readonly string[];
}

export type ThreadRequest =
  | { readonly type: "run"; readonly id: number; readonly role: string; readonly feeds: Tensors }
  | { readonly type: "close" };

export type ThreadReply =
  | { readonly type: "ready" }
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
  /** Runs are served in order. A failed run rejects and leaves the thread usable. */
  run(role: string, feeds: Tensors): Promise<Tensors>;
  close(): Promise<void>;
}

interface Waiter {
  readonly resolve: (outputs: Tensors) => void;
  readonly reject: (error: Error) => void;
}

/** Opens the graphs; rejects with the loader's sentence when one cannot be used. */
export async function openSessions(
  setup: SessionSetup,
  onRun?: (run: GraphRun) => void,
): Promise<SessionThread> {
  const thread = new Worker(new URL("./session-thread.js", import.meta.url), { workerData: setup });
  const first = await new Promise<ThreadReply>((resolve) => thread.once("message", resolve));
  if (first.type !== "ready") {
    await thread.terminate();
    const reason = first.type === "open-failed" ? first.message : "unexpected reply";
    throw new Error(`the graphs ${Object.values(setup.graphs).join(", ")} do not open: ${reason}`);
  }
  return serveThread(thread, onRun);
}

function serveThread(thread: Worker, onRun: (run: GraphRun) => void = () => {}): SessionThread {
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
    } else waiter?.reject(runError(reply.message));
  });
  thread.on("error", (error) => failAll(`the session thread failed: ${error.message}`));
  thread.on("exit", () => failAll("the session thread has ended"));

  return {
    run(role, feeds) {
      if (failure) return Promise.reject(failure);
      const id = ++lastId;
      return new Promise((resolve, reject) => {
        waiting.set(id, { resolve, reject });
        thread.postMessage({ type: "run", id, role, feeds } satisfies ThreadRequest);
      });
    },
    async close() {
      if (failure) return;
      const exited = once(thread, "exit");
      thread.postMessage({ type: "close" } satisfies ThreadRequest);
      await exited;
    },
  };
}

/** Allocation failures are told apart, since another attempt on a freer device may succeed. */
function runError(message: string): JobError {
  const outOfMemory = /alloc|out of memory/i.test(message);
  return new JobError(outOfMemory ? "out_of_memory" : "inference_crashed", message);
}
