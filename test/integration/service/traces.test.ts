import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { traceBroker } from "#framemill/queue/traced-broker.js";
import { openTracing } from "#framemill/tracing/index.js";
import type { TraceSpan } from "#framemill/tracing/read-trace.js";
import { type OtlpReceiver, startOtlpReceiver } from "../../support/otlp-receiver.js";
import { promptOf, say, startScriptedWorker, words } from "../../support/front-workers.js";
import {
  createPostgres,
  dropPostgres,
  openaiClient,
  startHarness,
} from "../../support/front-harness.js";
import { getAmqpUrl, until } from "../../support/queue-harness.js";
import {
  finishClip,
  type FinishedClip,
  type ServiceProcesses,
  startApart,
} from "../../support/service-harness.js";

const TRACE_ID = "4bf92f3577b34da6a3ce929d0e0e4736";
const CALLER = "00f067aa0ba902b7";
const traceparent = `00-${TRACE_ID}-${CALLER}-01`;
const PROMPT = "a red boat sails across the ocean at sunset";
/** Clocks of processes on one machine agree within this, in milliseconds. */
const CLOCKS_MS = 10;

const MODEL_JSON = new URL("../../../models/service-motion-1/model.json", import.meta.url);

describe("the trace of a clip whose first attempt died", () => {
  let folder: string;
  let databaseUrl: string;
  let receiver: OtlpReceiver;
  let service: ServiceProcesses | undefined;
  let trace: readonly TraceSpan[];
  let clip: FinishedClip;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "framemill-traces-"));
    databaseUrl = await createPostgres();
    receiver = await startOtlpReceiver();
    service = await startApart(join(folder, "data"), {
      AMQP_URL: getAmqpUrl(),
      DATABASE_URL: databaseUrl,
      OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
    });
    const { client } = service;
    const body = { model: "service-motion-1", prompt: PROMPT, seconds: "4", quality: "fast" };
    // Its first attempt meets a process that stands still, and is killed then.
    const inferencePid = service.inferencePid();
    process.kill(inferencePid, "SIGSTOP");
    const video = await client.videos.create(body as never, { headers: { traceparent } });
    const isTaken = async () => (await client.videos.retrieve(video.id)).status === "in_progress";
    await until(isTaken, 60_000);
    // A claim is told of before the process has the work: a process that dies in between is replaced unnoticed.
    await sleep(2_000);
    process.kill(inferencePid, "SIGKILL");
    clip = await finishClip(client, video);
    // What has ended is exported before a process leaves.
    await service.stop();
    service = undefined;
    trace = receiver.spans().filter(({ traceId }) => traceId === TRACE_ID);
  });
  afterAll(async () => {
    await service?.stop();
    await receiver?.close();
    await dropPostgres(databaseUrl);
    await rm(folder, { recursive: true, force: true });
  });

  const all = (name: string) => trace.filter((span) => span.name === name);
  const parentOf = ({ parentId }: TraceSpan) => trace.find(({ spanId }) => spanId === parentId);
  /** `service name` of the span and of all above it, without the services' prefix. */
  const wayOf = (span: TraceSpan): string => {
    const above = parentOf(span);
    const own = `${span.service.replace("framemill-", "")}: ${span.name}`;
    return above === undefined ? own : `${wayOf(above)} > ${own}`;
  };

  it("shows every hop below the one before it", () => {
    const published = "front: POST /v1/videos > front: publish jobs";
    const attempt = `${published} > worker: process jobs.video.service-motion-1 > worker: attempt`;
    const generated = `${attempt} > worker: run > inference: generate video`;
    const rpc = (call: string) =>
      `worker: framemill.v1.WorkerService/${call} > front: framemill.v1.WorkerService/${call}`;
    expect(trace.map(wayOf)).toEqual(
      expect.arrayContaining([
        "front: POST /v1/videos > front: accept",
        `${published} > worker: queue wait`,
        `${attempt} > worker: claim > ${rpc("Claim")}`,
        `${attempt} > ${rpc("Fail")}`,
        ...["prompt", "steps", "canvas", "frames", "muxing", "checking"].map(
          (stage) => `${generated} > inference: ${stage}`,
        ),
        `${attempt} > worker: upload`,
        `${attempt} > worker: complete > ${rpc("Complete")} > front: charge`,
      ]),
    );
    expect(all("POST /v1/videos").map(({ parentId }) => parentId)).toEqual([CALLER]);
  });

  it("has an attempt each, the first with what ended it", () => {
    // A front that was too slow to answer a claim makes a delivery without a lease.
    const attempts = all("attempt")
      .filter((span) => span.attributes["framemill.claim"] === "leased")
      .toSorted((a, b) => a.startedAtMs - b.startedAtMs);
    expect(attempts.map((span) => span.attributes["framemill.attempt"])).toEqual([1, 2]);
    expect(attempts.map(({ error }) => error)).toEqual(["inference_crashed", undefined]);
    expect(all("queue wait").length).toBeGreaterThanOrEqual(2);
  });

  it("counts denoising steps and the charge", async () => {
    const { sampler } = JSON.parse(await readFile(MODEL_JSON, "utf8")) as {
      sampler: { steps: number };
    };
    const [steps] = all("steps");
    const [charge] = all("charge");
    expect(steps?.attributes["framemill.stage.steps"]).toBe(sampler.steps);
    expect(charge?.attributes["framemill.cost.micro_usd"]).toBe((clip.cost.final ?? 0) * 1_000_000);
  });

  it("keeps child spans within their parents", () => {
    // A message is worked on after its publisher has gone on; a killed process tells of no end.
    const waitedFor = trace.flatMap((span) => {
      const above = parentOf(span);
      const waits = above !== undefined && !/^(process|queue wait)/.test(span.name);
      return waits ? [{ span, above }] : [];
    });
    expect(waitedFor.length).toBeGreaterThan(15);
    for (const { span, above } of waitedFor) {
      expect(span.startedAtMs).toBeGreaterThan(above.startedAtMs - CLOCKS_MS);
      // Who answers another process may note the end of it after that one has read the answer.
      const last = span.service === above.service ? span.endedAtMs : span.startedAtMs;
      expect(last).toBeLessThan(above.endedAtMs + CLOCKS_MS);
    }
  });

  it("holds nothing that the caller wrote", () => {
    const received = receiver.received();
    expect(received.includes("POST /v1/videos")).toBe(true);
    for (const word of ["boat", "sunset", "Bearer"]) expect(received.includes(word)).toBe(false);
  });
});

describe("a receiver of traces that is unreachable", () => {
  it("delays no job, and the log names the trace all the same", async () => {
    const harness = await startHarness();
    // Nothing listens at port 9.
    const tracing = await openTracing(
      { endpoint: "http://127.0.0.1:9", ratio: 1 },
      { service: "framemill-front", instance: "test", onFailure: () => {} },
    );
    try {
      const { tracer } = tracing;
      const broker = traceBroker(harness.broker, tracer);
      const front = await harness.startReplica({ tracer, broker });
      const received: string[] = [];
      const worker = await startScriptedWorker({ ...harness, front }, async function* ({ job }) {
        received.push(job.traceparent ?? "", promptOf(job));
        yield { type: "output", output: words("still here") };
      });
      const client = openaiClient(front, harness.account.key);
      const answer = await client.chat.completions.create(say("hello"), {
        headers: { traceparent },
      });
      await worker.stop();
      await front.close();
      expect(answer.choices[0]?.message.content).toBe("still here");
      expect(received[0]).toMatch(new RegExp(`^00-${TRACE_ID}-(?!${CALLER})[0-9a-f]{16}-01$`));
      expect(harness.logged()).toContain(`"trace_id":"${TRACE_ID}"`);
    } finally {
      await tracing.close();
      await harness.close();
    }
  });
});
