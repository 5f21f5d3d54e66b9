import { mkdirSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { Socket } from "node:net";
import { cpus } from "node:os";
import { join } from "node:path";
import type { Artifact } from "../../core/artifact.js";
import type { PipelineEvent } from "../../core/events.js";
import { JobError, toJobError, messageOf } from "../../core/errors.js";
import { fromFailure, type Job, toFailure } from "../../core/job.js";
import { isPolled, type Pipeline } from "../../core/modality.js";
import { type Tracer, type TraceSettings, type Tracing, UNTRACED } from "../../core/tracing.js";
import { createDevicePlaces, type DevicePlaces } from "../ort/device-places.js";
import { type FindModality, openModels, type OpenModels } from "./open-models.js";
import { openChannel, type WorkerChannel } from "./channel.js";
import type { Adopted, InferenceReply, InferenceRequest, Opens } from "./protocol.js";
import { standForAdoption } from "./standing.js";
import { callsEnded } from "../ort/api.js";
import { takePlace } from "../ort/take-place.js";
import { createStageWatch } from "../../core/stages.js";

/** The inference process's side of `process.ts`: loads the models, then runs jobs as they come. */

/** What jobs are run with. */
interface Served extends Pick<OpenModels, "models"> {
  readonly ready: Adopted["ready"];
  readonly places: DevicePlaces;
  /** Models that run a job at a time; jobs of those that batch run beside all others and take no place. */
  readonly takesPlace: ReadonlySet<string>;
  readonly findModality: FindModality;
}

/** How often a job that waits for its model says so: far below any STALL_MS, in milliseconds. */
const SIGN_OF_LIFE_MS = 10_000;

interface InputWaiter {
  readonly resolve: (bytes: Uint8Array) => void;
  readonly reject: (error: Error) => void;
}

interface RunningJob {
  readonly abort: AbortController;
  readonly preempt: AbortController;
}

type JobStart = Extract<InferenceRequest, { readonly type: "job-start" }>;

/** File descriptor of the way to the worker that started this process. */
const WORKER_FD = 3;

/** A job that does not end when its worker has gone ends with the whole process, after this time in milliseconds. */
const ABORT_MS = 10_000;

/**
 * Serves the worker that started this process until that leaves, or, where it may be adopted, vanishes and
 * no other has come in time. Called once, by `bin/inference-process.ts`.
 */
export async function serveInference(
  findModality: FindModality,
  openTracing: (settings: TraceSettings) => Promise<Tracing>,
): Promise<void> {
  let served: Served | undefined;
  let tracing: Tracing | undefined;
  const running = new Map<string, RunningJob>();
  const runs = new Set<Promise<void>>();
  let begun: Setup | undefined;
  let leave = () => {};
  const left = new Promise<void>((resolve) => (leave = resolve));
  let patience: NodeJS.Timeout | undefined;
  const inputs = new Map<string, InputWaiter[]>();

  const wantInput = (jobId: string, artifact: Artifact) =>
    new Promise<Uint8Array>((resolve, reject) => {
      inputs.set(artifact.id, [...(inputs.get(artifact.id) ?? []), { resolve, reject }]);
      send({ type: "input-wanted", jobId, artifact });
    });
  const settleInput = (artifactId: string, settle: (waiter: InputWaiter) => void) => {
    inputs.get(artifactId)?.forEach(settle);
    inputs.delete(artifactId);
  };
  const start = async ({ job, scratchPath, checkpoint }: JobStart) => {
    const [abort, preempt] = [new AbortController(), new AbortController()];
    running.set(job.id, { abort, preempt });
    const context = {
      signal: abort.signal,
      preempted: preempt.signal,
      // Most jobs leave no file: their folder would cost more than the rest of their way.
      get scratchPath() {
        mkdirSync(scratchPath, { recursive: true, mode: 0o700 });
        return scratchPath;
      },
      readInput: (artifact: Artifact) => wantInput(job.id, artifact),
      ...(checkpoint !== undefined && { checkpoint }),
      ...(job.tenant !== undefined && { tenant: job.tenant }),
    };
    await runJob({ job, served, tracer: tracing?.tracer ?? UNTRACED }, context);
    running.delete(job.id);
  };
  const track = (run: Promise<void>) => {
    runs.add(run);
    void run.finally(() => runs.delete(run));
  };
  const abortAll = () => {
    for (const { abort } of running.values()) abort.abort();
    const gone = new JobError("cancelled", "the worker has gone");
    for (const artifactId of inputs.keys()) settleInput(artifactId, ({ reject }) => reject(gone));
  };

  const vacate = (channel: WorkerChannel) => {
    if (worker !== channel) return;
    worker = undefined;
    abortAll();
    if (begun?.standing === undefined || served === undefined) return leave();
    patience = setTimeout(leave, begun.standing.waitMs);
    setTimeout(() => worker === undefined && running.size > 0 && process.exit(1), ABORT_MS).unref();
  };
  const onAdopt = async (channel: WorkerChannel) => {
    clearTimeout(patience);
    worker = channel;
    // Two runs of one job, or two jobs in one place, must not meet.
    await Promise.all(runs);
    if (worker === channel && served !== undefined) send(adopted(served, begun?.opens));
  };
  const begin = async (request: Setup) => {
    begun = request;
    const { traces, device } = request.setup;
    if (traces !== undefined) tracing = await openTracing(traces);
    served = await setUp(request, findModality, async () => {
      if (request.standing === undefined) return;
      const events = { onMessage, onClose: vacate, onOther: leave };
      const hasWorker = () => worker !== undefined;
      const adopting = (channel: WorkerChannel) => void onAdopt(channel);
      const ends = { ...events, onAdopt: adopting, hasWorker };
      await standForAdoption({ ...request.standing, device, ...ends });
    });
    // It vanished while the models loaded, and nobody will have them.
    if (worker === undefined) leave();
  };

  const onMessage = (request: InferenceRequest): void => {
    if (request.type === "setup") void begin(request);
    else if (request.type === "leave") leave();
    else if (request.type === "job-start") track(start(request));
    else if (request.type === "job-cancel") running.get(request.jobId)?.abort.abort();
    else if (request.type === "job-preempt") running.get(request.jobId)?.preempt.abort();
    else if (request.type === "input-ready")
      settleInput(request.artifactId, ({ resolve }) => resolve(request.bytes));
    else if (request.type === "input-failed")
      settleInput(request.artifactId, ({ reject }) => reject(fromFailure(request.failure)));
  };
  const first: WorkerChannel = openChannel<readonly InferenceReply[], InferenceRequest>(
    new Socket({ fd: WORKER_FD, readable: true, writable: true }),
    { onMessage, onClose: () => vacate(first) },
  );
  worker = first;
  await left;
  abortAll();
  await Promise.all([tracing?.close(), callsEnded()]);
}

/** What the next worker gets to know. */
function adopted({ ready, models }: Served, opens: Opens = "at-start"): Adopted {
  const { pid: processId } = process;
  return { type: "adopted", processId, ready, opens, loaded: models.loaded };
}

type Setup = Extract<InferenceRequest, { readonly type: "setup" }>;

async function setUp(
  request: Setup,
  findModality: FindModality,
  stand: () => Promise<void>,
): Promise<Served | undefined> {
  const startedAt = performance.now();
  try {
    const { setup, opens } = request;
    const opened = await openModels({ setup, opens, findModality, send });
    const { models, providers, packages, choice, placements } = opened;
    const single = packages.filter(({ execution }) => execution.concurrency === 1);
    const takesPlace = new Set(single.map(({ id }) => id));
    const loadMs = performance.now() - startedAt;
    const device = await deviceName(providers, setup.device);
    await stand();
    const ready = { type: "ready", loadMs, providers, device, choice, placements } as const;
    send(ready);
    return {
      ready,
      models,
      places: createDevicePlaces(setup.slots ?? 1),
      takesPlace,
      findModality,
    };
  } catch (thrown) {
    send({
      type: "setup-failed",
      message: messageOf(thrown),
    });
    return undefined;
  }
}

interface JobRun {
  readonly job: Job;
  readonly served: Served | undefined;
  readonly tracer: Tracer;
}

type Context = Parameters<Pipeline<unknown, unknown>["run"]>[1];

async function runJob({ job, served, tracer }: JobRun, context: Context): Promise<void> {
  const trace = traceRun(tracer, job);
  const tell = (event: PipelineEvent) => {
    trace.follow(event);
    send({ type: "event", jobId: job.id, event });
  };
  const waiting = () => tell({ type: "progress", fraction: 0, stage: "loading the model" });
  const sign = setInterval(waiting, SIGN_OF_LIFE_MS);
  try {
    if (served === undefined)
      throw new JobError("model_not_found", `this worker has no model ${job.model}`);
    const { places, takesPlace, findModality } = served;
    const run = async (pipeline: Pipeline<unknown, unknown>) => {
      clearInterval(sign);
      trace.begin();
      const events = pipeline.run(job.request, context);
      const modality = takesPlace.has(job.model) ? findModality(job.modality) : undefined;
      const inPlace = modality
        ? takePlace(events, { isPolled: isPolled(modality), places, context })
        : events;
      for await (const event of inPlace) tell(event);
    };
    await served.models.use(job.model, run, context.signal);
    send({ type: "job-end", jobId: job.id });
  } catch (thrown) {
    const error = context.signal.aborted
      ? new JobError("cancelled", "the job was cancelled")
      : toJobError(thrown);
    trace.fail(error.code);
    // A lost device poisons the process: the parent starts another.
    const leave = error.code === "device_lost" ? () => process.exit(1) : undefined;
    send({ type: "job-error", jobId: job.id, failure: toFailure(error) }, leave);
  } finally {
    clearInterval(sign);
    trace.end();
  }
}

/** Who is served; nobody while this process waits for the next. */
let worker: WorkerChannel | undefined;
let unsent: InferenceReply[] = [];

/**
 * Pieces of answers that are made in one turn go as one message, which costs more than what it carries.
 * Anything else goes at once: what follows it may hold this thread.
 */
function send(reply: InferenceReply, onSent?: () => void): void {
  unsent.push(reply);
  const isPiece = reply.type === "event" && reply.event.type === "chunk";
  if (!isPiece) sendAll(onSent);
  else if (unsent.length === 1) setImmediate(sendAll);
}

function sendAll(onSent: () => void = () => {}): void {
  const replies = unsent;
  unsent = [];
  if (replies.length === 0) return;
  // A worker that went away is noticed by its channel; nothing is owed to it here.
  if (worker?.isOpen === true) worker.send(replies, onSent);
  else onSent();
}

/** The spans of one job in the inference process: the whole, and each stage. */
interface RunTrace {
  /** The model is there, and the pipeline starts. */
  begin(): void;
  follow(event: PipelineEvent): void;
  fail(code: string): void;
  end(): void;
}

/** Until the pipeline tells of a stage, it prepares. */
const FIRST_STAGE = "preparing";

function traceRun(tracer: Tracer, { id, model, modality, traceparent }: Job): RunTrace {
  const attributes = { "framemill.job.id": id, "framemill.model": model };
  const run = tracer.start(`generate ${modality}`, { parent: traceparent, attributes });
  const { traceparent: parent } = run;
  const stages = createStageWatch(({ stage, startedAtMs, endedAtMs, reports }) =>
    tracer
      .start(stage, { parent, startedAtMs, attributes: { "framemill.stage.steps": reports } })
      .end(endedAtMs),
  );
  let hasAnswered = false;
  stages.enter("loading the model");
  return {
    begin: () => stages.enter(FIRST_STAGE),
    follow(event) {
      if (event.type === "progress") stages.enter(event.stage);
      else if (event.type === "chunk" && !hasAnswered) {
        hasAnswered = true;
        run.note("first chunk");
      }
    },
    fail: (code) => run.fail(code),
    end() {
      stages.end();
      run.end();
    },
  };
}

const NVIDIA = "/proc/driver/nvidia/gpus";

/** What providers compute on, for people: the name of the GPU, or of the processor. */
async function deviceName(providers: readonly string[], device = 0): Promise<string> {
  const [first = "cpu"] = providers;
  if (first === "cpu") return cpus()[0]?.model.trim() ?? "cpu";
  return (await nvidiaName(device)) ?? first;
}

/** `Model:` of /proc/driver/nvidia/gpus/<address>/information. */
async function nvidiaName(device: number): Promise<string | undefined> {
  // In the order of their addresses, which CUDA is told to follow.
  const addresses = await readdir(NVIDIA).catch(() => []);
  const address = addresses.toSorted((a, b) => a.localeCompare(b))[device];
  if (address === undefined) return undefined;
  const text = await readFile(join(NVIDIA, address, "information"), "utf8").catch(() => "");
  return /^Model:\s*(.+)$/m.exec(text)?.[1]?.trim();
}
