import { EventEmitter, once } from "node:events";
import { mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { Artifact } from "#framemill/core/artifact.js";
import { UNTRACED } from "#framemill/core/tracing.js";
import { JobError } from "#framemill/core/errors.js";
import type { PipelineEvent } from "#framemill/core/events.js";
import type { Job } from "#framemill/core/job.js";
import type {
  ClaimResult,
  CompletionReport,
  FailureReport,
  ProgressStream,
  Reporter,
} from "#framemill/core/reports.js";
import type { InferenceHost, InferenceJob } from "#framemill/runtime/process/protocol.js";
import { findModality } from "#framemill/modalities/registry.js";
import type { ArtifactStore } from "#framemill/storage/artifact-store.js";
import { createLocalStore } from "#framemill/storage/local.js";
import { createDirectives } from "#framemill/worker/attempt.js";
import { executeJob } from "#framemill/worker/execute-job.js";
import { createWorkerMetrics } from "#framemill/worker/metrics.js";
import { openScratch } from "#framemill/worker/scratch.js";
import { openSpool } from "#framemill/worker/spool.js";
import { holdClock } from "../../support/rpc-harness.js";

const CHAT_REQUEST = {
  model: "any",
  messages: [{ role: "user", content: "hello" }],
  tools: [],
  toolChoice: "auto",
  parallelToolCalls: true,
  format: { type: "text" },
  maxTokens: null,
  n: 1,
  temperature: 1,
  topP: 1,
  topK: 0,
  minP: 0,
  frequencyPenalty: 0,
  presencePenalty: 0,
  seed: 1,
  stop: [],
  logitBias: {},
  logprobs: null,
  truncate: false,
  stream: false,
  metadata: null,
  includeUsage: false,
};

const job: Job = {
  id: "video_00000000000000000000000000000001",
  modality: "video",
  model: "service-motion-1",
  request: {
    model: "m",
    prompt: "a boat",
    seconds: 4,
    quality: "fast",
    width: 1280,
    height: 720,
    sound: false,
    seed: 1,
    negativePrompt: "",
    image: null,
    metadata: null,
  },
  expiresAtMs: Number.MAX_SAFE_INTEGER,
  reportTo: "",
};
const lease = {
  jobId: job.id,
  token: 3,
  attempt: 2,
  leaseMs: 30_000,
  prices: { videoSeconds: 180_000 },
};
const silent = { info() {}, warn() {}, error() {} };

let folder = "";
beforeEach(async () => void (folder = await mkdtemp(join(tmpdir(), "execute-job-"))));
afterEach(async () => {
  vi.useRealTimers();
  await rm(folder, { recursive: true, force: true });
});

/** A front that gives set answers and remembers what was reported. */
function frontDouble(answers: Partial<Reporter> = {}) {
  const completions: CompletionReport[] = [];
  const failures: FailureReport[] = [];
  const released: (Artifact | null)[] = [];
  const reporter: Reporter = {
    claim: async () => ({ outcome: "leased", lease, checkpoint: null }),
    announce: async () => ({ drain: false }),
    heartbeat: async () => ({ outcome: "held", leaseMs: 30_000, cancel: false, drain: false }),
    async complete(report) {
      completions.push(report);
      return { outcome: "recorded" };
    },
    async fail(report) {
      failures.push(report);
      return report.retryable
        ? { outcome: "retry", retryAfterMs: 5_000 }
        : { outcome: "failed", retryAfterMs: 0 };
    },
    async release({ checkpoint }) {
      released.push(checkpoint);
      return { outcome: "recorded" };
    },
    close: async () => {},
    ...answers,
  };
  return { reporter, completions, failures, released };
}

/** The way to the front that has the caller. */
function streamDouble(answers: Partial<ProgressStream> = {}): ProgressStream {
  return { progress() {}, flush: async () => true, forget() {}, connected: true, ...answers };
}

type Run = (task: InferenceJob, signal: AbortSignal) => AsyncIterable<PipelineEvent>;

async function* makeClip({ scratchPath }: InferenceJob): AsyncGenerator<PipelineEvent> {
  const path = join(scratchPath, "content.mp4");
  await writeFile(path, "a clip");
  yield { type: "progress", fraction: 0.5, stage: "frames" };
  yield { type: "file", variant: "content", path, mediaType: "video/mp4" };
  yield { type: "output", output: { frameCount: 96 } };
}

interface Sent {
  readonly job?: Job;
  readonly stream?: ProgressStream;
  readonly unanswered?: number;
  readonly preempted?: AbortSignal;
  readonly store?: ArtifactStore;
  /** Less than its hour of patience. */
  readonly jobTimeoutMs?: number;
}

async function execute(reporter: Reporter, run: Run, sent: Sent = {}) {
  const inference: InferenceHost = {
    ready: async () => {},
    // As the inference process does for a pipeline that asks for it.
    async *run(task, abort) {
      await mkdir(task.scratchPath, { recursive: true });
      yield* run(task, abort);
    },
    processId: 1,
    device: "",
    memoryBytes: async () => 0,
    close: async () => {},
  };
  const scratch = await openScratch(join(folder, "scratch"));
  const store = sent.store ?? createLocalStore(join(folder, "artifacts"));
  const met: string[] = [];
  const addresses: unknown[] = [];
  const { signal } = new AbortController();
  const { unanswered = 0, stream = streamDouble() } = sent;
  const delivery = { job: sent.job ?? job, redelivered: false, signal, unanswered };
  const settlement = await executeJob(delivery, {
    workerId: "worker-1",
    models: [],
    reporter,
    streamOf: (address) => {
      addresses.push(address);
      return stream;
    },
    directives: createDirectives(),
    inference,
    store,
    scratch,
    spool: await openSpool({ folder: join(folder, "spool"), reporter, log: silent }),
    findModality,
    jobTimeoutMs: sent.jobTimeoutMs ?? 60_000,
    tracer: UNTRACED,
    onDrain() {},
    preempted: sent.preempted ?? signal,
    fitness: { met: (fault) => void met.push(fault.code), succeeded() {} },
    metrics: createWorkerMetrics({
      state: () => "busy",
      obstacles: {},
      running: () => 1,
      spooled: () => 0,
      inference,
    }),
    log: silent,
  });
  const attempts = await readdir(join(folder, "scratch"));
  const left = await Promise.all(attempts.map((name) => readdir(join(folder, "scratch", name))));
  return { settlement, left: left.flat(), stored: await store.list(""), met, addresses };
}

test("a report that no front took is retried every minute", async () => {
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
  let isAway = true;
  let refused = 0;
  const { reporter, completions } = frontDouble();
  const spool = await openSpool({
    folder: join(folder, "spool"),
    reporter: {
      complete: async (report) => {
        if (isAway) {
          refused += 1;
          throw new JobError("service_unavailable", "the front is away");
        }
        return await reporter.complete(report);
      },
    },
    log: silent,
  });
  const usage = { videoSeconds: 4, gpuMs: 1 };
  const cost = { prices: {}, amountMicroUsd: 1 };
  await spool.keep({ jobId: job.id, token: 3, usage, cost, artifacts: [], output: null });
  await vi.advanceTimersByTimeAsync(60_000);
  await vi.waitFor(() => expect(refused).toBe(1), { timeout: 60_000 });
  expect(spool.size).toBe(1);
  isAway = false;
  await vi.advanceTimersByTimeAsync(60_000);
  await vi.waitFor(() => expect(spool.size).toBe(0), { timeout: 60_000 });
  expect(completions).toMatchObject([{ jobId: job.id, token: 3 }]);
  spool.close();
});

describe("one delivery", () => {
  test("is run, stored, billed by what was rendered and then acknowledged", async () => {
    const { reporter, completions } = frontDouble();
    const { settlement, left, stored } = await execute(reporter, makeClip);
    expect(settlement).toEqual({ type: "ack" });
    expect(stored).toEqual([`${job.id}/2/content.mp4`]);
    expect(left).toEqual([]);
    expect(completions).toHaveLength(1);
    expect(completions[0]).toMatchObject({
      token: 3,
      usage: { videoSeconds: 4 },
      cost: { prices: { videoSeconds: 180_000 }, amountMicroUsd: 720_000 },
      output: { frameCount: 96 },
      artifacts: [{ variant: "content", byteLength: 6 }],
    });
  });

  test("of a job that has ended is acknowledged and nothing runs", async () => {
    const { reporter } = frontDouble({ claim: async () => ({ outcome: "already-done" }) });
    const run = () => {
      throw new Error("must not run");
    };
    expect((await execute(reporter, run)).settlement).toEqual({ type: "ack" });
  });

  test("of a job that another worker holds is redelivered later", async () => {
    const busy = { outcome: "busy", retryAfterMs: 30_000 } as const;
    const { reporter } = frontDouble({ claim: async () => busy });
    const { settlement } = await execute(reporter, makeClip);
    expect(settlement).toEqual({ type: "retry", delayMs: 30_000 });
  });

  test("whose inference process died is redelivered, with nothing stored or billed", async () => {
    const { reporter, failures, completions } = frontDouble();
    const { settlement, left, stored } = await execute(reporter, async function* ({ scratchPath }) {
      await writeFile(join(scratchPath, "half.mp4"), "half");
      yield { type: "progress", fraction: 0.5, stage: "frames" };
      throw new JobError("inference_crashed", "the inference process ended (SIGKILL)");
    });
    expect(settlement).toEqual({ type: "retry", delayMs: 5_000 });
    expect(failures).toMatchObject([{ retryable: true, failure: { code: "inference_crashed" } }]);
    expect([left, stored, completions]).toEqual([[], [], []]);
  });

  test("whose token went stale while it ran is claimed again after a lease's length", async () => {
    const { reporter, failures } = frontDouble({ complete: async () => ({ outcome: "stale" }) });
    const { settlement } = await execute(reporter, makeClip);
    expect(settlement).toEqual({ type: "retry", delayMs: 30_000 });
    expect(failures).toEqual([]);
  });

  test("keeps a finished clip for a front that comes back, and makes it once", async () => {
    let [made, asked] = [0, 0];
    const { reporter } = frontDouble({
      complete: async () => {
        asked += 1;
        if (asked < 3) throw new JobError("service_unavailable", "the front is away");
        return { outcome: "recorded" };
      },
    });
    const { settlement } = await execute(reporter, (task) => {
      made += 1;
      return makeClip(task);
    });
    expect(settlement).toEqual({ type: "ack" });
    expect([made, asked]).toEqual([1, 3]);
  });

  /** A store that is away for so many uploads. */
  function awayFor(uploads: number): ArtifactStore {
    const store = createLocalStore(join(folder, "artifacts"));
    let asked = 0;
    const away = new JobError("service_unavailable", "Files cannot be stored.", {
      cause: new Error("connect ECONNREFUSED 10.0.0.7:9000"),
    });
    return {
      putFile: async (...put) => {
        asked += 1;
        if (asked <= uploads) throw away;
        return await store.putFile(...put);
      },
      putBytes: (...put) => store.putBytes(...put),
      openRead: (...read) => store.openRead(...read),
      readBytes: (id) => store.readBytes(id),
      findSize: (id) => store.findSize(id),
      removeAll: (prefix) => store.removeAll(prefix),
      list: (prefix) => store.list(prefix),
      probe: () => store.probe(),
      close: () => store.close(),
    };
  }

  test("keeps a finished clip for a store that comes back, and makes it once", async () => {
    let made = 0;
    const { reporter, completions, failures } = frontDouble();
    const run: Run = (task) => {
      made += 1;
      return makeClip(task);
    };
    const { settlement, stored, met } = await execute(reporter, run, { store: awayFor(2) });
    expect(settlement).toEqual({ type: "ack" });
    expect(stored).toEqual([`${job.id}/2/content.mp4`]);
    expect([made, completions.length, failures.length]).toEqual([1, 1, 0]);
    expect(met).toEqual(["store_unavailable", "store_unavailable"]);
  });

  test("is returned, not failed as overdue, when its deadline passes while the store is away", async () => {
    const { reporter, failures } = frontDouble();
    const sent = { store: awayFor(Number.POSITIVE_INFINITY), jobTimeoutMs: 1_500 };
    const { settlement } = await execute(reporter, makeClip, sent);
    expect(settlement).toEqual({ type: "retry", delayMs: 5_000 });
    expect(failures).toMatchObject([{ retryable: true, failure: { code: "store_unavailable" } }]);
    expect(failures[0]?.failure.message).not.toContain("10.0.0.7");
  });

  test("whose report finds no room on the disk is reported all the same", async () => {
    const { reporter, completions } = frontDouble();
    // Nothing can be renamed over a folder that is not empty.
    await mkdir(join(folder, "spool", `${job.id}.json`, "occupied"), { recursive: true });
    const { settlement } = await execute(reporter, makeClip);
    expect(settlement).toEqual({ type: "ack" });
    expect(completions).toHaveLength(1);
  });

  test("of a worker with a full disk is returned as the worker's fault", async () => {
    const { reporter, failures } = frontDouble();
    const full: Run = async function* () {
      yield { type: "progress", fraction: 0.5, stage: "frames" };
      throw Object.assign(new Error("ENOSPC: no space left on device, write"), { code: "ENOSPC" });
    };
    const { settlement, met } = await execute(reporter, full);
    expect(settlement).toEqual({ type: "retry", delayMs: 5_000 });
    expect(failures).toMatchObject([{ failure: { code: "worker_fault" } }]);
    expect(met).toEqual(["worker_fault"]);
  });

  test("finished while the front was away is reported by the worker's next process, not made again", async () => {
    const leaving = new AbortController();
    const gone = new JobError("service_unavailable", "the front is away");
    const away = frontDouble({
      complete() {
        leaving.abort();
        return Promise.reject(gone);
      },
      release: () => Promise.reject(gone),
    });
    const left = await execute(away.reporter, makeClip, { preempted: leaving.signal });
    expect(left.settlement).toEqual({ type: "retry", delayMs: 5_000 });
    const stillAway = frontDouble({ complete: () => Promise.reject(gone) });
    const waits = await execute(stillAway.reporter, makeClip);
    expect(waits.settlement).toEqual({ type: "retry", delayMs: 5_000, unanswered: 1 });

    const { reporter, completions } = frontDouble();
    const run = () => {
      throw new Error("must not run");
    };
    expect((await execute(reporter, run)).settlement).toEqual({ type: "ack" });
    expect(completions).toMatchObject([{ token: 3, artifacts: [{ variant: "content" }] }]);
    expect(await readdir(join(folder, "spool"))).toEqual([]);
  });

  test("of a replied job gives its slot back with its lease, though nobody takes its report", async () => {
    const away = () => Promise.reject(new JobError("service_unavailable", "the front is away"));
    const short = { ...lease, leaseMs: 5_050 };
    const { reporter } = frontDouble({
      claim: async () => ({ outcome: "leased", lease: short, checkpoint: null, reportTo: "front" }),
      complete: away,
      heartbeat: away,
    });
    const answer: Run = async function* () {
      const usage = { promptTokens: 1, completionTokens: 1 };
      yield { type: "output", output: { choices: [], usage } };
    };
    const chat = {
      ...job,
      id: "chatcmpl-1",
      modality: "chat",
      model: "any",
      request: CHAT_REQUEST,
    };
    const { settlement } = await execute(reporter, answer, { job: chat });
    expect(settlement).toEqual({ type: "retry", delayMs: 30_000 });
  });

  test("is cancelled when the front with its caller stays away", async () => {
    const clock = holdClock();
    const reportTo = "10.0.0.9:8081";
    const { reporter, failures, completions } = frontDouble({
      claim: async () => ({ outcome: "leased", lease, checkpoint: null, reportTo }),
    });
    const stream = streamDouble({
      connected: false,
      flush: async (_lease, signal) => {
        await once(signal, "abort");
        return false;
      },
    });
    const answer: Run = async function* () {
      yield { type: "chunk", chunk: { type: "json", value: "nobody hears it" } };
      const usage = { promptTokens: 1, completionTokens: 1 };
      yield { type: "output", output: { choices: [], usage } };
    };
    const chat = {
      ...job,
      id: "chatcmpl-1",
      modality: "chat",
      model: "any",
      request: CHAT_REQUEST,
    };
    const { settlement, addresses } = await clock.hurry(
      execute(reporter, answer, { job: chat, stream }),
    );
    expect(settlement).toEqual({ type: "ack" });
    // Where the claim said, whatever the message says.
    expect(new Set(addresses)).toEqual(new Set([reportTo]));
    expect(completions).toEqual([]);
    expect(failures).toMatchObject([{ failure: { code: "cancelled" }, retryable: false }]);
  });

  test("is redelivered with growing pauses while no front answers", async () => {
    const { reporter } = frontDouble({
      claim: () => Promise.reject(new JobError("service_unavailable", "the front is away")),
    });
    const pauses: unknown[] = [];
    for (const unanswered of [0, 1, 2, 3, 4, 5, 20])
      pauses.push((await execute(reporter, makeClip, { unanswered })).settlement);
    expect(pauses).toEqual(
      [5, 10, 20, 40, 80, 120, 120].map((seconds, index) => ({
        type: "retry",
        delayMs: seconds * 1_000,
        unanswered: [1, 2, 3, 4, 5, 6, 21][index],
      })),
    );
  });

  test("whose report no front can take is redelivered", async () => {
    const away = () => Promise.reject(new Error("UNAVAILABLE"));
    const { reporter } = frontDouble({ complete: away, fail: away });
    const { settlement } = await execute(reporter, makeClip);
    expect(settlement.type).toBe("retry");
  });

  test("of a replied job runs while its claim is on the way, and is stopped without a report if another worker holds it", async () => {
    const chat = {
      ...job,
      id: "chatcmpl-1",
      modality: "chat",
      model: "any",
      request: CHAT_REQUEST,
    };
    const begun = new EventEmitter();
    const reports: unknown[] = [];
    const { reporter, failures, completions } = frontDouble({
      async claim() {
        await once(begun, "run");
        return { outcome: "busy", retryAfterMs: 30_000 };
      },
    });
    const stream = streamDouble({ progress: (report) => void reports.push(report) });
    let wasStopped = false;
    const run: Run = async function* (_task, signal) {
      begun.emit("run");
      try {
        yield { type: "chunk", chunk: { type: "json", value: "first" } };
      } finally {
        wasStopped = signal.aborted;
      }
    };
    const { settlement } = await execute(reporter, run, { job: chat, stream });
    expect(settlement).toEqual({ type: "retry", delayMs: 30_000 });
    expect([reports, failures, completions]).toEqual([[], [], []]);
    expect(wasStopped).toBe(true);
  });

  test("hands its checkpoint over to the next worker when this one drains", async () => {
    const { reporter: first, released } = frontDouble();
    const leaving = new AbortController();
    const saves: Run = async function* ({ scratchPath, preempted, checkpoint }) {
      expect(checkpoint).toBeUndefined();
      yield { type: "progress", fraction: 0.2, stage: "steps" };
      leaving.abort();
      expect(preempted?.aborted).toBe(true);
      const path = join(scratchPath, "checkpoint");
      await writeFile(path, "step 12");
      yield { type: "checkpoint", path };
      throw new JobError("preempted", "left at step 12");
    };
    const sent = { preempted: leaving.signal };
    const { settlement, stored } = await execute(first, saves, sent);
    expect(settlement).toEqual({ type: "return" });
    expect(stored).toEqual([`${job.id}/2/checkpoint.bin`]);
    const [checkpoint] = released;

    const goOn = async (saved: Artifact | null | undefined) => {
      const next = { outcome: "leased", lease: { ...lease, token: 4 }, checkpoint: saved ?? null };
      const { reporter } = frontDouble({ claim: async () => next as ClaimResult });
      let found: string | undefined;
      await execute(reporter, (task) => {
        found = task.checkpoint && Buffer.from(task.checkpoint).toString();
        return makeClip(task);
      });
      return found;
    };
    expect(await goOn(checkpoint)).toBe("step 12");
    const altered = checkpoint && { ...checkpoint, sha256: "0".repeat(64) };
    expect(await goOn(altered)).toBeUndefined();
  });

  test("returns to the queue without blame when the worker drains", async () => {
    const { reporter, failures } = frontDouble();
    const leaving = new AbortController();
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const { settlement } = await execute(
      reporter,
      async function* (_task, signal) {
        yield { type: "progress", fraction: 0.1, stage: "steps" };
        leaving.abort();
        // It saves nothing; there is a moment for those that do.
        expect(signal.aborted).toBe(false);
        vi.advanceTimersByTime(2_500);
        signal.throwIfAborted();
      },
      { preempted: leaving.signal },
    );
    expect(settlement).toEqual({ type: "return" });
    expect(failures).toEqual([]);
  });
});
