import { spawn } from "node:child_process";
import { Duplex } from "node:stream";
import {
  type AdoptedProcess,
  awaitExit,
  killGroup,
  killProcess,
  processStart,
} from "./adoption.js";
import { openChannel } from "./channel.js";
import type { InferenceReply, InferenceRequest } from "./protocol.js";

/** The way to an inference process, which this one started or found. */
export interface Connection {
  readonly processId: number;
  readonly hasEnded: boolean;
  /** Drops what is sent to a process that died: `onEnd` says that it did. */
  post(request: InferenceRequest): void;
  onReply(hear: (reply: InferenceReply) => void): void;
  /** Calls back once the process has gone, with what is known of how. */
  onEnd(hear: (how: string) => void): void;
  /** Kills it and what it started. */
  kill(): void;
  /** Leaves it to wait for the next worker, or to end where it waits for none. */
  part(): void;
}

interface SpawnOptions {
  readonly entryPath: string;
  readonly prefix: readonly string[];
  readonly env: NodeJS.ProcessEnv;
}

/** Starts an inference process as leader of a group of its own. */
export function spawnInference({ entryPath, prefix, env }: SpawnOptions): Connection {
  const [execPath, ...words] = [...prefix, process.execPath, ...process.execArgv, entryPath];
  const child = spawn(execPath, words, {
    env,
    detached: true,
    stdio: ["ignore", "inherit", "inherit", "pipe"],
  });
  const stream = child.stdio[3];
  if (!(stream instanceof Duplex)) throw new Error("the inference process has no way back");
  const listeners = createListeners();
  const channel = openChannel<InferenceRequest, readonly InferenceReply[]>(stream, {
    onMessage: listeners.hear,
    onClose() {},
  });
  child.once("error", ({ message }) => listeners.end(message));
  // What it said last has been read by then.
  child.once("close", (code, signal) => listeners.end(String(signal ?? code)));
  const { pid: processId = 0 } = child;
  return {
    ...listeners.connection,
    processId,
    get hasEnded() {
      return listeners.hasEnded;
    },
    post: (request) => channel.send(request),
    kill() {
      // Not yet waited for: its id is no other's.
      if (processId !== 0 && child.exitCode === null && child.signalCode === null)
        killGroup(processId);
    },
    part() {
      channel.end();
      child.unref();
    },
  };
}

/** Goes on with a process that another worker started. */
export function joinInference(adopted: AdoptedProcess): Connection {
  const { channel, state } = adopted;
  const { processId } = state;
  const start = processStart(processId);
  const kill = () => killProcess(processId, start);
  const listeners = createListeners();
  let hasParted = false;
  adopted.onMessage = listeners.hear;
  adopted.onClose = () => {
    if (!hasParted) void awaitEnd();
  };
  // It is no child: that it has gone is seen by looking.
  const awaitEnd = async () => {
    await awaitExit(processId, start, OWN_END_MS);
    listeners.end("its connection closed");
  };
  return {
    ...listeners.connection,
    processId,
    get hasEnded() {
      return listeners.hasEnded;
    },
    post: (request) => channel.send(request),
    kill,
    part() {
      hasParted = true;
      channel.end();
    },
  };
}

/** One that has closed its connection has so long to end by itself, in milliseconds. */
const OWN_END_MS = 2_000;

function createListeners() {
  const replies: ((reply: InferenceReply) => void)[] = [];
  const ends: ((how: string) => void)[] = [];
  let hasEnded = false;
  return {
    get hasEnded() {
      return hasEnded;
    },
    hear: (all: readonly InferenceReply[]) => {
      for (const reply of all) for (const hear of replies) hear(reply);
    },
    end(how: string) {
      if (hasEnded) return;
      hasEnded = true;
      for (const hear of ends) hear(how);
    },
    connection: {
      onReply: (hear: (reply: InferenceReply) => void) => void replies.push(hear),
      onEnd: (hear: (how: string) => void) => void ends.push(hear),
    },
  };
}
