import { once } from "node:events";
import type { Worker } from "node:worker_threads";
import { JobError } from "../../core/errors.js";

/** What a thread says first. */
export type OpenReply<Info> =
  | { readonly type: "ready"; readonly info: Info }
  | { readonly type: "open-failed"; readonly message: string };

/** Settles with the first message, or rejects with what kept the thread from sending one. */
export function firstReply<Info>(thread: Worker, name: string): Promise<OpenReply<Info>> {
  return new Promise((resolve, reject) => {
    thread.once("message", resolve);
    thread.once("error", reject);
    thread.once("exit", (code) => reject(new Error(`${name} ended before it was open (${code})`)));
  });
}

/** What the thread declares once it is open; one that cannot open is ended, and its message thrown. */
export async function threadInfo<Info>(
  thread: Worker,
  reply: Promise<OpenReply<Info>>,
): Promise<Info> {
  const first = await reply;
  if (first.type === "ready") return first.info;
  await thread.terminate();
  throw new Error(first.message);
}

/** Requests to an open thread that are answered by number. */
export interface ThreadClient<Request, Waiter> {
  /** Sends a request under a number of its own. Throws `inference_crashed` once the thread has ended. */
  ask(waiter: Waiter, request: (id: number) => Request): number;
  /** Sends what has no answer; nothing once the thread has ended. */
  post(request: Request): void;
  find(id: number): Waiter | undefined;
  /** Forgets a request; false where it was answered or failed before. */
  forget(id: number): boolean;
  /** Sends the last request and resolves when the thread has ended. */
  close(request: Request): Promise<void>;
}

/** Whoever still waits when the thread ends is failed with `inference_crashed`. */
export function createThreadClient<Request, Waiter extends { fail(error: Error): void }>(
  thread: Worker,
  name: string,
): ThreadClient<Request, Waiter> {
  const waiting = new Map<number, Waiter>();
  let lastId = 0;
  let failure: JobError | undefined;
  const failAll = (message: string) => {
    failure ??= new JobError("inference_crashed", message);
    for (const waiter of waiting.values()) waiter.fail(failure);
    waiting.clear();
  };
  thread.on("error", (error) => failAll(`${name} failed: ${error.message}`));
  thread.on("exit", () => failAll(`${name} has ended`));
  const post = (request: Request) => {
    if (!failure) thread.postMessage(request);
  };
  return {
    ask(waiter, request) {
      if (failure) throw failure;
      lastId += 1;
      waiting.set(lastId, waiter);
      thread.postMessage(request(lastId));
      return lastId;
    },
    post,
    find: (id) => waiting.get(id),
    forget: (id) => waiting.delete(id),
    async close(request) {
      if (failure) return;
      const exited = once(thread, "exit");
      post(request);
      await exited;
    },
  };
}
