import { type ChildProcessWithoutNullStreams, spawn, spawnSync } from "node:child_process";

/** How a process ended; `problem` is set when it could not be started at all. */
export interface ProcessExit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly problem?: Error;
}

/** A child with its own process group, so that nothing it started outlives it. */
export interface ProcessGroup {
  readonly child: ChildProcessWithoutNullStreams;
  /** Resolves when the process is gone and its streams are closed; never rejects. */
  readonly exited: Promise<ProcessExit>;
  /** Whether it was killed because its time was over. */
  readonly timedOut: boolean;
  /** End of the standard error output so far, at most 4 KiB. */
  stderrTail(): string;
  /** SIGKILL to the whole group; harmless when it is gone. */
  kill(): void;
}

export interface ProcessLimits {
  /** Kills the group when it aborts. */
  readonly signal?: AbortSignal | undefined;
  /** Wall time after which the group is killed; no limit where absent. */
  readonly timeoutMs?: number;
}

/** Starts `command` as leader of a new process group; where setpriv exists, it dies with this process. */
export function startProcessGroup(
  command: string,
  args: readonly string[],
  { signal, timeoutMs }: ProcessLimits = {},
): ProcessGroup {
  const [file, ...argv] = [...parentDeathPrefix(), command, ...args];
  const child = spawn(file ?? command, argv, { detached: true, stdio: ["pipe", "pipe", "pipe"] });
  let tail = "";
  child.stderr.setEncoding("utf8");
  child.stderr.on("data", (text: string) => {
    tail = (tail + text).slice(-4096);
  });
  // A process that dies early breaks its input pipe; the exit says why, the pipe does not.
  child.stdin.on("error", () => undefined);
  let [alive, timedOut] = [true, false];
  const kill = () => killGroup(child.pid, alive);
  const expire = () => {
    timedOut = true;
    kill();
  };
  const timer = timeoutMs === undefined ? undefined : setTimeout(expire, timeoutMs);
  signal?.addEventListener("abort", kill, { once: true });
  const exited = waitForExit(child).finally(() => {
    alive = false;
    clearTimeout(timer);
    signal?.removeEventListener("abort", kill);
  });
  return {
    child,
    exited,
    get timedOut() {
      return timedOut;
    },
    stderrTail: () => tail.trim(),
    kill,
  };
}

/** What an exit means, for an error message: `exit code 1: <last line of standard error>`. */
export function describeExit(exit: ProcessExit, stderr: string): string {
  const lines = stderr.split("\n").slice(-3).join(" | ");
  const how =
    exit.problem?.message ?? (exit.signal ? `killed by ${exit.signal}` : `exit code ${exit.code}`);
  return lines === "" ? how : `${how}: ${lines}`;
}

function waitForExit(child: ChildProcessWithoutNullStreams): Promise<ProcessExit> {
  return new Promise((resolve) => {
    child.once("error", (problem) => {
      if (child.pid === undefined) resolve({ code: null, signal: null, problem });
    });
    child.once("close", (code, signal) => resolve({ code, signal }));
  });
}

function killGroup(pid: number | undefined, alive: boolean): void {
  if (pid === undefined || !alive) return;
  try {
    process.kill(-pid, "SIGKILL");
  } catch {
    // ESRCH: the group went between the check and the signal.
  }
}

let prefix: readonly string[] | undefined;

/**
 * Words before a command that make its process die with this one, however that dies: util-linux setpriv
 * sets PR_SET_PDEATHSIG. None where there is no setpriv.
 */
export function parentDeathPrefix(): readonly string[] {
  if (prefix === undefined) {
    const wrapper = ["setpriv", "--pdeathsig", "KILL", "--"];
    const probe = spawnSync("setpriv", [...wrapper.slice(1), "true"], {
      stdio: "ignore",
      timeout: 2000,
    });
    prefix = probe.status === 0 ? wrapper : [];
  }
  return prefix;
}
