import { readFile } from "node:fs/promises";
import { totalmem } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import type { Artifact } from "../../core/artifact.js";
import { EventQueue } from "../../core/async/event-queue.js";
import { JobError, toJobError } from "../../core/errors.js";
import type { PipelineEvent } from "../../core/events.js";
import { fromFailure, toFailure } from "../../core/job.js";
import { describePlacement } from "../ort/placement.js";
import { adopt, adoptionKey, type AdoptionOptions, checkFolder, socketPath } from "./adoption.js";
import { type Connection, joinInference, spawnInference } from "./connection.js";
import type {
  Adopted,
  InferenceHost,
  InferenceJob,
  InferenceReply,
  InferenceSetup,
  ModelPlacement,
  Opens,
  Standing,
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
  /** Whether a process waits for the next worker, and one that waits is taken; neither by default. */
  readonly adoption?: AdoptionOptions;
  /** Told once when the device has failed three times in ten minutes: this machine is of no use. */
  readonly onBroken?: () => void;
  readonly log: {
    info(fields: object, text: string): void;
    error(fields: object, text: string): void;
  };
}

interface LiveProcess {
  readonly connection: Connection;
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
  let adoptions = 0;
  let standing: Standing | undefined;
  let live: LiveProcess | undefined;
  const begun = begin();
  // Who waits for readiness sees the rejection.
  begun.catch(() => {});
  // Where this process ends without closing, and setpriv is not there to see to it.
  const killLive = () => live?.connection.kill();
  if (options.adoption === undefined) process.once("exit", killLive);

  async function begin(): Promise<void> {
    if (options.adoption === undefined) return void (live = start("at-start"));
    const { folder, waitMs } = options.adoption;
    await checkFolder(folder);
    socketPath(folder, options.setup.device);
    const key = await adoptionKey(options.setup, options.entryPath);
    standing = { folder, key, waitMs };
    const found = await adopt(folder, key, options.setup.device);
    if (found === undefined) {
      if (!closed) live = start("at-start");
      return;
    }
    const { processId, loaded } = found.state;
    adoptions += 1;
    options.log.info({ processId, models: loaded, loadMs: 0 }, "inference process adopted");
    live = follow(watchProcess(joinInference(found), options, faults, found.state));
    for (const model of loaded) live.loaded.add(model);
    take(live, found.state.ready);
  }
  function take(one: LiveProcess, ready: Adopted["ready"]): void {
    ({ device, providers } = ready);
    // What opens its models later has seen none of them.
    if (one.opens !== "on-use") placements = ready.placements;
  }
  function start(opens: Opens): LiveProcess {
    return follow(startProcess(options, faults, opens, standing));
  }
  function follow(started: LiveProcess): LiveProcess {
    const { connection, opens } = started;
    connection.onEnd(() => {
      if (live !== started) return;
      live = undefined;
      // What serves models on their use has none to load anew.
      if (!closed) restart = setTimeout(() => (live = start(opens)), RESTART_DELAY_MS);
    });
    connection.onReply((reply) => {
      if (reply.type === "ready") take(started, reply);
      // A job that came meanwhile has the process load its model again.
      if (reply.type !== "idle" || started.tasks.size > 0 || live !== started) return;
      live = undefined;
      isAsleep = true;
      connection.post({ type: "leave" });
    });
    return started;
  }
  const present = async (): Promise<LiveProcess> => {
    await begun;
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
      return live?.connection.processId;
    },
    get device() {
      return device;
    },
    memoryBytes: async () =>
      live === undefined ? 0 : await residentBytes(live.connection.processId),
    get providers() {
      return providers;
    },
    get placements() {
      return placements;
    },
    get adoptions() {
      return adoptions;
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
      await begun.catch(() => {});
      process.off("exit", killLive);
      const { connection, isReady, killed } = live ?? {};
      if (connection === undefined || connection.hasEnded) return;
      // A device that failed is not handed on.
      if (standing !== undefined && isReady === true && killed === false && !faults.isSuspect)
        return connection.part();
      const exited = new Promise<void>((resolve) => connection.onEnd(() => resolve()));
      // One that still loads has nothing to finish, and would not hear of it for seconds.
      if (isReady === false) connection.kill();
      else connection.post({ type: "leave" });
      const timer = setTimeout(() => connection.kill(), options.cancelMs);
      await exited;
      clearTimeout(timer);
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

function startProcess(
  options: InferenceProcessOptions,
  faults: Faults,
  asked: Opens,
  standing: Standing | undefined,
): LiveProcess {
  const { entryPath, setup, allowance = memoryAllowance() } = options;
  const prefix = standing === undefined ? (options.prefix ?? []) : [];
  const connection = spawnInference({ entryPath, prefix, env: childEnvironment(setup) });
  const opens = faults.isSuspect ? "proven" : asked;
  const live = watchProcess(connection, options, faults, { opens });
  const { modelMemoryBytes = MODELS_SHARE * allowance } = setup;
  const waiting = standing && { standing };
  connection.post({ type: "setup", setup: { ...setup, modelMemoryBytes }, opens, ...waiting });
  return live;
}

/** Has the process's memory, faults and end watched. */
function watchProcess(
  connection: Connection,
  options: InferenceProcessOptions,
  faults: Faults,
  { opens, ready: isThere }: { readonly opens: Opens; readonly ready?: Adopted["ready"] },
): LiveProcess {
  const { log, allowance = memoryAllowance() } = options;
  const { processId } = connection;
  const tasks = new Map<string, RunningTask>();
  let isReady = isThere !== undefined;
  const ready = isReady
    ? Promise.resolve()
    : awaitReady(connection, opens, log).then(() => void (isReady = true));
  // Whoever waits for readiness sees the rejection; a process nobody waits for is not an accident.
  ready.catch(() => {});
  const live: LiveProcess = {
    connection,
    opens,
    loaded: new Set(),
    ready,
    tasks,
    killed: false,
    get isReady() {
      return isReady;
    },
  };
  connection.onReply((reply) => {
    if (reply.type === "job-error" && reply.failure.code === "device_lost") {
      live.killed = true;
      faults.note();
    } else if (reply.type === "setup-failed" && opens === "proven") {
      faults.note();
      kill(live);
    }
    noteModels(live, reply, log);
    deliver(connection, tasks, reply);
  });
  const endWatch = watchMemory({
    processId,
    allowance,
    onExceeded(bytes) {
      log.error({ processId, bytes, allowance }, "inference holds too much memory");
      const sentence = `the inference process held ${bytes} bytes, ${Math.round(allowance)} are allowed`;
      for (const { events } of tasks.values()) events.fail(new JobError("out_of_memory", sentence));
      kill(live);
    },
  });
  connection.onEnd((how) => {
    endWatch();
    log.info({ processId, how }, "inference process ended");
    const error = new JobError("inference_crashed", `the inference process ended (${how})`);
    for (const { events } of tasks.values()) events.fail(error);
  });
  return live;
}

function noteModels(
  { connection, loaded }: LiveProcess,
  reply: InferenceReply,
  log: InferenceProcessOptions["log"],
): void {
  if (reply.type !== "model-loaded" && reply.type !== "model-unloaded") return;
  const { type, model, processBytes } = reply;
  const fields = { processId: connection.processId, model, processBytes };
  if (type === "model-loaded") loaded.add(model);
  else loaded.delete(model);
  if (type === "model-unloaded") log.info(fields, "model unloaded");
  else log.info({ ...fields, loadMs: Math.round(reply.loadMs) }, "model loaded");
}

function awaitReady(
  connection: Connection,
  opens: Opens,
  log: InferenceProcessOptions["log"],
): Promise<void> {
  return new Promise((resolve, reject) => {
    connection.onReply((reply) => {
      if (reply.type === "ready") {
        const { loadMs, providers, device, choice, placements } = reply;
        const { processId } = connection;
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
    connection.onEnd((how) => reject(new Error(`the inference process ended (${how})`)));
  });
}

function deliver(
  connection: Connection,
  tasks: Map<string, RunningTask>,
  reply: InferenceReply,
): void {
  if (!("jobId" in reply)) return;
  const running = tasks.get(reply.jobId);
  if (running === undefined) return;
  if (reply.type === "event") running.events.push(reply.event);
  else if (reply.type === "job-end") running.events.end();
  else if (reply.type === "job-error") running.events.fail(fromFailure(reply.failure));
  else void sendInput(connection, running.task, reply.artifact);
}

async function sendInput(
  connection: Connection,
  task: InferenceJob,
  artifact: Parameters<InferenceJob["readInput"]>[0],
): Promise<void> {
  const artifactId = artifact.id;
  try {
    connection.post({ type: "input-ready", artifactId, bytes: await task.readInput(artifact) });
  } catch (thrown) {
    const failure = toFailure(toJobError(thrown));
    connection.post({ type: "input-failed", artifactId, failure });
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
  const { connection, tasks } = live;
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
    connection.post({ type: "job-cancel", jobId });
    killTimer = setTimeout(() => kill(live), options.cancelMs);
  };
  const preempt = () => connection.post({ type: "job-preempt", jobId });
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
    connection.post({ type: "job-start", job, scratchPath, ...saved });
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
    if (!events.ended) connection.post({ type: "job-cancel", jobId });
  }
}

function kill(live: LiveProcess): void {
  live.killed = true;
  live.connection.kill();
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
