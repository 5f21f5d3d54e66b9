import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { totalmem } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import type { Artifact } from "../../core/artifact.js";
import { EventQueue } from "../../core/async/event-queue.js";
import { JobError, toJobError } from "../../core/errors.js";
import type { PipelineEvent } from "../../core/events.js";
import { fromFailure, toFailure } from "../../core/job.js";
import { describePlacement } from "../ort/placement.js";
import type {
  InferenceHost,
  InferenceJob,
  InferenceReply,
  InferenceRequest,
  InferenceSetup,
  ModelPlacement,
  Opens,
} from "./protocol.js";

/** Pause before a new process, so that one that dies at once does not spin. */
const RESTART_DELAY_MS = 200;
/** Of what worker and inference process may hold, the models' part where nothing else is said. */
const MODELS_SHARE = 0.75;

export interface InferenceProcessOptions {
  /** Path of the compiled `bin/inference-process.js`. */
  readonly entryPath: string;
  /** Words before Node's that tie the process to this one's life: hung, it would not notice its end. */
  readonly prefix?: readonly string[];
  readonly setup: InferenceSetup;
  /** Silence after which a running job counts as hung, in milliseconds. */
  readonly stallMs: number;
  /** Time a cancelled job gets to end by itself before its process is killed, in milliseconds. */
  readonly cancelMs: number;
  /** Bytes that this process and the inference process may hold; `memoryAllowance()` by default. */
  readonly allowance?: number;
  /** Told once when the device has failed three times in ten minutes: this machine is of no use. */
  readonly onBroken?: () => void;
  readonly log: {
    info(fields: object, text: string): void;
    error(fields: object, text: string): void;
  };
}

interface LiveProcess {
  readonly child: ChildProcess;
  readonly ready: Promise<void>;
  readonly tasks: Map<string, RunningTask>;
  readonly opens: Opens;
  /** Models in its memory. */
  readonly loaded: Set<string>;
  readonly isReady: boolean;
  /** Told to die: takes no more jobs, though its exit was not seen yet. */
  killed: boolean;
}

interface RunningTask {
  readonly task: InferenceJob;
  readonly events: EventQueue<PipelineEvent>;
}

/** Inference in a child process of its own group: a crash ends the process, never the worker. */
export function createInferenceProcess(options: InferenceProcessOptions): InferenceHost {
  let closed = false;
  /** It has no models loaded, and is started when there is a job. */
  let isAsleep = false;
  let restart: NodeJS.Timeout | undefined;
  const faults = createFaultCount(options.onBroken);
  /** What the last process said of itself. */
  let device = "";
  let providers: readonly string[] | undefined;
  let placements: readonly ModelPlacement[] | undefined;
  let live: LiveProcess | undefined = start("at-start");
  // Where this process ends without closing, and setpriv is not there to see to it.
  const killLive = () => live !== undefined && killGroup(live.child);
  process.once("exit", killLive);

  function start(opens: Opens): LiveProcess {
    const started = startProcess(options, faults, opens);
    started.child.once("exit", () => {
      if (live !== started) return;
      live = undefined;
      // What serves models on their use has none to load anew.
      if (!closed) restart = setTimeout(() => (live = start(opens)), RESTART_DELAY_MS);
    });
    onReply(started.child, (reply) => {
      if (reply.type === "ready") {
        ({ device, providers } = reply);
        // What opens its models later has seen none of them.
        if (started.opens !== "on-use") placements = reply.placements;
      }
      // A job that came meanwhile has the process load its model again.
      if (reply.type !== "idle" || started.tasks.size > 0 || live !== started) return;
      live = undefined;
      isAsleep = true;
      started.child.disconnect();
    });
    return started;
  }
  const present = async (): Promise<LiveProcess> => {
    if (isAsleep && !closed) live = start("on-use");
    isAsleep = false;
    while ((live === undefined || live.killed) && !closed) await sleep(RESTART_DELAY_MS / 2);
    const found = live;
    if (found === undefined) throw new JobError("inference_crashed", "inference is closed");
    try {
      await found.ready;
      return found;
    } catch (thrown) {
      if (!found.killed || closed) throw thrown;
      return await present();
    }
  };
  return {
    async ready() {
      if (!isAsleep) await present();
    },
    get processId() {
      return live?.child.pid;
    },
    get device() {
      return device;
    },
    memoryBytes: async () => (live === undefined ? 0 : await residentBytes(live.child.pid ?? 0)),
    get providers() {
      return providers;
    },
    get placements() {
      return placements;
    },
    get loadedModels() {
      return [...(live?.loaded ?? [])];
    },
    allowanceBytes: options.allowance ?? memoryAllowance(),
    async *run(task, signal) {
      yield* runTask({ live: await present(), task, signal, options });
    },
    async close() {
      closed = true;
      clearTimeout(restart);
      const child = live?.child;
      if (child?.pid === undefined || child.exitCode !== null) return;
      const exited = once(child, "exit");
      // One that still loads has nothing to finish, and would not hear of it for seconds.
      if (live?.isReady === false) killGroup(child);
      else if (child.connected) child.disconnect();
      const timer = setTimeout(() => killGroup(child), options.cancelMs);
      await exited;
      clearTimeout(timer);
      process.off("exit", killLive);
    },
  };
}

const MOST_FAULTS = 3;
const FAULT_WINDOW_MS = 600_000;

interface Faults {
  /** Counts a fault of the device. */
  note(): void;
  /** Whether the device failed within the last ten minutes. */
  readonly isSuspect: boolean;
}

/** Calls back at the third fault within ten minutes. */
function createFaultCount(onBroken: (() => void) | undefined): Faults {
  let times: readonly number[] = [];
  const recent = () => times.filter((time) => performance.now() - time < FAULT_WINDOW_MS);
  return {
    note() {
      times = [...recent(), performance.now()];
      if (times.length === MOST_FAULTS) onBroken?.();
    },
    get isSuspect() {
      return recent().length > 0;
    },
  };
}

/** Threads of libuv for files and names, besides those that a run of a graph holds until it ends. */
const OTHER_THREADS = 8;

/** What is read before any code of the new process. CUDA numbers GPUs as nvidia-smi does. */
function childEnvironment({ threads }: InferenceSetup): NodeJS.ProcessEnv {
  return {
    UV_THREADPOOL_SIZE: String(threads + OTHER_THREADS),
    CUDA_DEVICE_ORDER: "PCI_BUS_ID",
    // oxlint-disable-next-line node/no-process-env
    ...process.env,
  };
}

function startProcess(options: InferenceProcessOptions, faults: Faults, asked: Opens): LiveProcess {
  const { entryPath, prefix = [], setup, log, allowance = memoryAllowance() } = options;
  const [execPath, ...words] = [...prefix, process.execPath];
  const child = fork(entryPath, {
    execPath,
    env: childEnvironment(setup),
    execArgv: [...words, ...process.execArgv],
    detached: true,
    serialization: "advanced",
    stdio: ["ignore", "inherit", "inherit", "ipc"],
  });
  const opens = faults.isSuspect ? "proven" : asked;
  const tasks = new Map<string, RunningTask>();
  let isReady = false;
  const ready = awaitReady(child, opens, log).then(() => void (isReady = true));
  // Whoever waits for readiness sees the rejection; a process nobody waits for is not an accident.
  ready.catch(() => {});
  const live: LiveProcess = {
    child,
    opens,
    loaded: new Set(),
    ready,
    tasks,
    killed: false,
    get isReady() {
      return isReady;
    },
  };
  onReply(child, (reply) => {
    if (reply.type === "job-error" && reply.failure.code === "device_lost") {
      live.killed = true;
      faults.note();
    } else if (reply.type === "setup-failed" && opens === "proven") {
      faults.note();
      kill(live);
    }
    noteModels(live, reply, log);
    deliver(child, tasks, reply);
  });
  const endWatch = watchMemory({
    processId: child.pid ?? 0,
    allowance,
    onExceeded(bytes) {
      log.error({ processId: child.pid, bytes, allowance }, "inference holds too much memory");
      const sentence = `the inference process held ${bytes} bytes, ${Math.round(allowance)} are allowed`;
      for (const { events } of tasks.values()) events.fail(new JobError("out_of_memory", sentence));
      kill(live);
    },
  });
  child.once("exit", (code, signal) => {
    endWatch();
    log.info({ processId: child.pid, code, signal }, "inference process ended");
    const error = new JobError(
      "inference_crashed",
      `the inference process ended (${signal ?? code})`,
    );
    for (const { events } of tasks.values()) events.fail(error);
  });
  const { modelMemoryBytes = MODELS_SHARE * allowance } = setup;
  post(child, { type: "setup", setup: { ...setup, modelMemoryBytes }, opens });
  return live;
}

function onReply(child: ChildProcess, hear: (reply: InferenceReply) => void): void {
  child.on("message", (replies: readonly InferenceReply[]) => replies.forEach(hear));
}

function noteModels(
  { child, loaded }: LiveProcess,
  reply: InferenceReply,
  log: InferenceProcessOptions["log"],
): void {
  if (reply.type !== "model-loaded" && reply.type !== "model-unloaded") return;
  const { type, model, processBytes } = reply;
  const fields = { processId: child.pid, model, processBytes };
  if (type === "model-loaded") loaded.add(model);
  else loaded.delete(model);
  if (type === "model-unloaded") log.info(fields, "model unloaded");
  else log.info({ ...fields, loadMs: Math.round(reply.loadMs) }, "model loaded");
}

function awaitReady(
  child: ChildProcess,
  opens: Opens,
  log: InferenceProcessOptions["log"],
): Promise<void> {
  return new Promise((resolve, reject) => {
    onReply(child, (reply) => {
      if (reply.type === "ready") {
        const { loadMs, providers, device, choice, placements } = reply;
        const { pid: processId } = child;
        const chosen = choice === "" ? {} : { choice };
        log.info(
          { processId, loadMs: Math.round(loadMs), providers, device, ...chosen },
          opens === "on-use" ? "inference is ready" : "models are loaded",
        );
        for (const { model, graphs } of placements)
          log.info({ processId, model, graphs: graphs.map(describePlacement) }, "placement");
        resolve();
      } else if (reply.type === "setup-failed") {
        log.error({ reason: reply.message }, "models do not load");
        reject(new Error(reply.message));
      }
    });
    child.once("error", reject);
    child.once("exit", (code) => reject(new Error(`the inference process ended (${code})`)));
  });
}

function deliver(
  child: ChildProcess,
  tasks: Map<string, RunningTask>,
  reply: InferenceReply,
): void {
  if (!("jobId" in reply)) return;
  const running = tasks.get(reply.jobId);
  if (running === undefined) return;
  if (reply.type === "event") running.events.push(reply.event);
  else if (reply.type === "job-end") running.events.end();
  else if (reply.type === "job-error") running.events.fail(fromFailure(reply.failure));
  else void sendInput(child, running.task, reply.artifact);
}

async function sendInput(
  child: ChildProcess,
  task: InferenceJob,
  artifact: Parameters<InferenceJob["readInput"]>[0],
): Promise<void> {
  const artifactId = artifact.id;
  try {
    post(child, { type: "input-ready", artifactId, bytes: await task.readInput(artifact) });
  } catch (thrown) {
    const failure = toFailure(toJobError(thrown));
    post(child, { type: "input-failed", artifactId, failure });
  }
}

interface TaskRun {
  readonly live: LiveProcess;
  readonly task: InferenceJob;
  readonly signal: AbortSignal;
  readonly options: InferenceProcessOptions;
}

async function* runTask(run: TaskRun): AsyncGenerator<PipelineEvent> {
  const { live, task, signal, options } = run;
  const { child, tasks } = live;
  const { job, scratchPath, preempted, checkpoint } = task;
  const jobId = job.id;
  const events = new EventQueue<PipelineEvent>();
  let reading = 0;
  let stallTimer: NodeJS.Timeout | undefined;
  const watchSilence = () => {
    clearTimeout(stallTimer);
    stallTimer = setTimeout(stalled, options.stallMs);
  };
  const stalled = () => {
    // Silence while its input is on the way is not the process's own.
    if (reading > 0) return watchSilence();
    events.fail(new JobError("inference_stalled", `no sign of life for ${options.stallMs} ms`));
    kill(live);
  };
  let killTimer: NodeJS.Timeout | undefined;
  const cancel = () => {
    post(child, { type: "job-cancel", jobId });
    killTimer = setTimeout(() => kill(live), options.cancelMs);
  };
  const preempt = () => post(child, { type: "job-preempt", jobId });
  watchSilence();
  const readInput = async (artifact: Artifact) => {
    reading += 1;
    return await task.readInput(artifact).finally(() => (reading -= 1));
  };
  tasks.set(jobId, { task: { ...task, readInput }, events });
  signal.addEventListener("abort", cancel, { once: true });
  preempted?.addEventListener("abort", preempt, { once: true });
  try {
    signal.throwIfAborted();
    const saved = checkpoint === undefined ? {} : { checkpoint };
    post(child, { type: "job-start", job, scratchPath, ...saved });
    for await (const event of events) {
      watchSilence();
      yield event;
    }
  } catch (thrown) {
    if (signal.aborted) throw new JobError("cancelled", "the job was stopped", { cause: thrown });
    throw thrown;
  } finally {
    clearTimeout(stallTimer);
    clearTimeout(killTimer);
    signal.removeEventListener("abort", cancel);
    preempted?.removeEventListener("abort", preempt);
    tasks.delete(jobId);
    if (!events.ended) post(child, { type: "job-cancel", jobId });
  }
}

function post(child: ChildProcess, request: InferenceRequest): void {
  // A process that died is noticed by `exit`; sending to it must not throw on the way.
  if (child.connected) child.send(request, () => {});
}

function kill(live: LiveProcess): void {
  live.killed = true;
  killGroup(live.child);
}

function killGroup(child: ChildProcess): void {
  if (child.pid === undefined || child.exitCode !== null) return;
  try {
    process.kill(-child.pid, "SIGKILL");
  } catch {
    child.kill("SIGKILL");
  }
}

/** Of the container's memory, or the machine's: beyond it the kernel would choose whom to kill. */
const SHARE = 0.9;
const INTERVAL_MS = 1_000;
const PAGE_BYTES = 4_096;

/** Bytes that this process and its inference process may hold together. */
export function memoryAllowance(): number {
  const limit = process.constrainedMemory();
  return SHARE * (limit > 0 && limit < totalmem() ? limit : totalmem());
}

interface MemoryWatchOptions {
  readonly processId: number;
  readonly allowance: number;
  /** Called once, with the bytes that were held. */
  readonly onExceeded: (bytes: number) => void;
}

/** Looks at the resident memory of a process and of this one every second; only Linux tells it. */
function watchMemory({ processId, allowance, onExceeded }: MemoryWatchOptions): () => void {
  const look = async (): Promise<void> => {
    const bytes = process.memoryUsage.rss() + (await residentBytes(processId));
    if (bytes <= allowance) return;
    clearInterval(timer);
    onExceeded(bytes);
  };
  const timer = setInterval(() => void look(), INTERVAL_MS);
  timer.unref();
  return () => clearInterval(timer);
}

/** Resident bytes of a process; 0 where it has gone or the system does not say. */
async function residentBytes(processId: number): Promise<number> {
  const statm = await readFile(`/proc/${processId}/statm`, "utf8").catch(() => "");
  return Number(statm.split(" ")[1] ?? 0) * PAGE_BYTES;
}

interface ProcessMemory {
  readonly residentBytes: number;
  /** Resident and not of a file: heaps, arenas, stacks. */
  readonly anonymousBytes: number;
  /** The most that ever was resident. */
  readonly peakBytes: number;
}

/** proc(5): VmRSS, RssAnon and VmHWM of /proc/pid/status (Linux). */
export async function readProcessMemory(processId: number): Promise<ProcessMemory> {
  const status = await readFile(`/proc/${processId}/status`, "utf8");
  const bytes = (field: string) =>
    Number(new RegExp(`^${field}:\\s+(\\d+) kB$`, "m").exec(status)?.[1]) * 1_024;
  return {
    residentBytes: bytes("VmRSS"),
    anonymousBytes: bytes("RssAnon"),
    peakBytes: bytes("VmHWM"),
  };
}
