import { sql } from "#framemill/front/ledger/database/sql.js";
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import type { Delivery } from "#framemill/queue/broker.js";
import { createEmbeddedBroker } from "#framemill/queue/embedded.js";
import {
  BODY,
  call,
  claim,
  completion,
  countCharges,
  createJob,
  janitorRuns,
  lapse,
  makeClip,
  MODEL,
  SOON,
  startHarness,
  upload,
  type CallOptions,
  type Harness,
} from "../../support/front-harness.js";

const BYTES = Buffer.from("0123456789");

describe("jobs", () => {
  let harness: Harness;
  const ask = (path: string, options: CallOptions = {}) =>
    call(`${harness.front.baseUrl}/videos${path}`, { key: harness.account.key, ...options });
  const create = () => createJob(harness.front, harness.account.key);
  const handlers = () => harness.front.handlers;

  beforeAll(async () => {
    harness = await startHarness();
  });
  afterEach(() => void vi.useRealTimers());
  afterAll(async () => await harness?.close());

  it("gives 50 concurrent claims one lease", async () => {
    const id = await create();
    const results = await Promise.all(
      Array.from({ length: 50 }, (_, index) => handlers().claim(id, `worker-${index}`)),
    );
    expect(results.filter(({ outcome }) => outcome === "leased")).toHaveLength(1);
    expect(results.filter(({ outcome }) => outcome === "busy")).toHaveLength(49);
    expect((await handlers().claim("video_unknown", "w")).outcome).toBe("already-done");
  });

  it("charges once for ten completions, and nothing for a stale token", async () => {
    const id = await create();
    const zombie = await claim(harness.front, id, "zombie");
    const orphans = await upload(harness.store, zombie, Buffer.from("zombie"));
    await lapse(harness.database, id);
    const winner = await claim(harness.front, id, "winner");
    expect(winner.attempt).toBe(2);
    expect(winner.token).toBeGreaterThan(zombie.token);
    expect(await handlers().heartbeat(zombie, "zombie")).toMatchObject({ outcome: "stale" });
    expect(await handlers().progress({ ...zombie, fraction: 0.9, stage: "x" })).toMatchObject({
      outcome: "stale",
    });

    const report = completion(winner, await upload(harness.store, winner, BYTES));
    const reports = Array.from({ length: 10 }, (_, index) =>
      handlers().complete(index % 2 === 0 ? report : completion(zombie, orphans)),
    );
    const outcomes = (await Promise.all(reports)).map(({ outcome }) => outcome);
    expect(outcomes.filter((outcome) => outcome === "recorded")).toHaveLength(5);
    expect((await handlers().complete(report)).outcome).toBe("recorded");
    expect(await countCharges(harness.database, id)).toBe(1);
    expect((await ask(`/${id}/content`)).text).toBe("0123456789");
    expect(await harness.store.list(`${id}/${zombie.attempt}/`)).toEqual([]);
    expect((await handlers().claim(id, "late")).outcome).toBe("already-done");
    const fail = {
      ...winner,
      failure: { code: "server_error", message: "x" } as const,
      retryable: true,
      gpuMs: 0,
    };
    expect((await handlers().fail(fail)).outcome).toBe("stale");
  });

  it("refuses another price, more units than quoted, and foreign files", async () => {
    const id = await create();
    const lease = await claim(harness.front, id);
    const report = completion(lease, await upload(harness.store, lease, BYTES));
    const foreign = { ...report.artifacts[0], id: "video_other/1/content.mp4" } as never;
    const wrong = [
      { ...report, cost: { ...report.cost, amountMicroUsd: report.cost.amountMicroUsd + 1 } },
      { ...report, cost: { prices: { videoSeconds: 1 }, amountMicroUsd: 4 } },
      completion(lease, report.artifacts, 5),
      { ...report, artifacts: [foreign] },
    ];
    const amount = String(report.cost.amountMicroUsd);
    for (const bad of wrong) {
      const refusal: unknown = await handlers()
        .complete(bad)
        .catch((thrown: unknown) => thrown);
      expect(refusal).toMatchObject({ code: "invalid_value" });
      // A guess must not be confirmed.
      expect(String(refusal)).not.toContain(amount);
    }
    expect(await countCharges(harness.database, id)).toBe(0);
    expect((await handlers().complete(report)).outcome).toBe("recorded");
  });

  it("completes no clip whose content is not in the store", async () => {
    const id = await create();
    const lease = await claim(harness.front, id);
    const [content, thumbnail] = await upload(harness.store, lease, BYTES);
    if (content === undefined || thumbnail === undefined) throw new Error("nothing was stored");
    const never = { ...content, id: content.id.replace("content", "never") };
    const wrong = [[], [thumbnail], [never], [{ ...content, byteLength: BYTES.length + 1 }]];
    for (const artifacts of wrong)
      await expect(handlers().complete(completion(lease, artifacts))).rejects.toMatchObject({
        code: "invalid_value",
        param: "artifacts",
      });
    expect((await ask(`/${id}`)).json.status).toBe("in_progress");
    expect(await countCharges(harness.database, id)).toBe(0);
    expect((await handlers().complete(completion(lease, [content]))).outcome).toBe("recorded");
  });

  it("refuses a report without the token of the lease", async () => {
    const id = await create();
    const other = await claim(harness.front, await create(), "rival");
    const lease = await claim(harness.front, id, "holder");
    const files = await upload(harness.store, lease, BYTES);
    const failure = { code: "server_error", message: "x" } as const;
    const guesses = [lease.attempt, lease.token - 1, lease.token + 1, other.token, 2 ** 53 - 1];
    for (const token of guesses) {
      const guess = { ...lease, token };
      const answers = await Promise.all([
        handlers().heartbeat(guess, "holder"),
        handlers().progress({ ...guess, fraction: 0.9, stage: "x" }),
        handlers().complete({ ...completion(lease, files), token }),
        handlers().fail({ ...guess, failure, retryable: false, gpuMs: 0 }),
        handlers().release({ ...guess, checkpoint: null, gpuMs: 0 }),
      ]);
      expect(answers.map(({ outcome }) => outcome)).toEqual(Array(5).fill("stale"));
    }
    expect((await ask(`/${id}`)).json).toMatchObject({ status: "in_progress", progress: 0 });
    expect(await harness.store.list(`${id}/`)).toHaveLength(files.length);
    expect((await handlers().complete(completion(lease, files))).outcome).toBe("recorded");
  });

  it("never shows progress falling, nor 100 before the file is there", async () => {
    const id = await create();
    const lease = await claim(harness.front, id);
    const shown: number[] = [];
    for (const fraction of [0.2, 0.7, 0.4, 1, 5, -1]) {
      await handlers().progress({ ...lease, fraction, stage: "steps" });
      shown.push((await ask(`/${id}`)).json.progress as number);
    }
    expect(shown).toEqual([20, 70, 70, 99, 99, 99]);
  });

  it("removes what a worker stores after its job was cancelled", async () => {
    const { database, store } = harness;
    const id = await create();
    const { token } = await claim(harness.front, id);
    await ask(`/${id}/cancel`, { method: "POST" });
    const areRemoved = async () =>
      (await sql`SELECT FROM jobs WHERE id = ${id} AND files_removed`.execute(database)).rows
        .length === 1;
    await expect.poll(areRemoved, SOON).toBe(true);
    const stale = { id: `${id}/${token}/content.mp4`, variant: "content", mediaType: "video/mp4" };
    await store.putBytes(stale, Buffer.from("late"));
    await sql`UPDATE jobs SET ended_at = ended_at - interval '2 minutes' WHERE id = ${id}`.execute(
      database,
    );
    await expect.poll(async () => await store.list(`${id}/`), SOON).toEqual([]);
  });

  it("blames no job for an outage or a worker's full disk, and lets it wait longer each time", async () => {
    const id = await create();
    const pauses: number[] = [];
    for (const code of ["store_unavailable", "worker_fault", "worker_fault", "store_unavailable"]) {
      const lease = await claim(harness.front, id);
      const failure = { code: code as "worker_fault", message: "ENOSPC" };
      const result = await handlers().fail({ ...lease, failure, retryable: true, gpuMs: 7 });
      expect(result.outcome).toBe("retry");
      pauses.push(result.retryAfterMs);
    }
    expect(pauses).toEqual([5_000, 30_000, 120_000, 120_000]);
    const shown = (await ask(`/${id}`)).json;
    expect([shown.status, shown.error]).toEqual(["in_progress", null]);
    await claim(harness.front, id);
  });

  it("fails a job at its third crash without a charge, and forgives preemptions", async () => {
    const id = await create();
    const message = "exit 139 at 10.0.0.7:9000";
    const failure = { code: "inference_crashed", message } as const;
    const outcomes: string[] = [];
    for (let round = 0; round < 6; round += 1) {
      const lease = await claim(harness.front, id);
      const result =
        round % 2 === 0
          ? await handlers().release({ ...lease, checkpoint: null, gpuMs: 5 })
          : await handlers().fail({ ...lease, failure, retryable: true, gpuMs: 7 });
      outcomes.push(result.outcome);
      expect((await ask(`/${id}`)).json.status).toBe(round < 5 ? "in_progress" : "failed");
    }
    expect(outcomes).toEqual(["recorded", "retry", "recorded", "retry", "recorded", "failed"]);
    const failed = await ask(`/${id}`);
    expect(failed.status).toBe(200);
    const error = { ...failure, message: "The computation ended unexpectedly." };
    expect(failed.json).toMatchObject({ error, cost: { final: 0 }, completed_at: null });
    const content = await ask(`/${id}/content`);
    expect([content.status, content.json.error.code]).toEqual([409, "video_failed"]);
    expect(content.headers.get("x-should-retry")).toBe("false");
    expect(await countCharges(harness.database, id)).toBe(0);
  });

  it("passes a checkpoint to the next attempt", async () => {
    const id = await create();
    const lease = await claim(harness.front, id);
    const checkpoint = await harness.store.putBytes(
      {
        id: `${id}/${lease.attempt}/checkpoint.bin`,
        variant: "checkpoint",
        mediaType: "application/octet-stream",
      },
      BYTES,
    );
    const release = { ...lease, checkpoint, gpuMs: 1 };
    expect((await handlers().release(release)).outcome).toBe("recorded");
    expect((await handlers().release(release)).outcome).toBe("recorded");
    const next = await handlers().claim(id, "next");
    expect(next).toMatchObject({ outcome: "leased", checkpoint });
  });

  it("cancels queued and running jobs, and stops the worker", async () => {
    const queued = await create();
    const answer = await ask(`/${queued}/cancel`, { method: "POST" });
    expect(answer.json).toMatchObject({
      status: "failed",
      error: { code: "cancelled" },
      cost: { final: 0 },
    });
    expect((await handlers().claim(queued, "w")).outcome).toBe("already-done");

    const running = await create();
    const lease = await claim(harness.front, running);
    expect((await ask(`/${running}`, { method: "DELETE" })).json.deleted).toBe(true);
    expect(await handlers().heartbeat(lease, "w")).toMatchObject({
      outcome: "stale",
      cancel: true,
    });
    const files = await upload(harness.store, lease, BYTES);
    expect((await handlers().complete(completion(lease, files))).outcome).toBe("stale");
    expect(await countCharges(harness.database, running)).toBe(0);
    expect(await harness.store.list(`${running}/`)).toEqual([]);

    const done = await makeClip(harness, harness.account.key);
    expect((await ask(`/${done}/cancel`, { method: "POST" })).json.status).toBe("completed");
  });

  it("delivers every accepted job, also after a restart of the broker", async () => {
    const id = await create();
    const broker = createEmbeddedBroker();
    const seen = new Map<string, Delivery>();
    await broker.consume({ routingKeys: [`video.${MODEL}`], prefetch: 1_000 }, async (delivery) => {
      seen.set(delivery.job.id, delivery);
      return { type: "ack" };
    });
    const front = await harness.startReplica({ broker });
    await expect.poll(() => seen.has(id), SOON).toBe(true);
    const job = seen.get(id)?.job;
    expect(job).toMatchObject({
      modality: "video",
      model: MODEL,
      request: { prompt: BODY.prompt },
    });
    expect(job?.reportTo).toBe(`127.0.0.1:${front.grpcPort}`);
    expect(job?.expiresAtMs).toBeGreaterThan(Date.now());

    await front.close();
    await broker.close();
  });

  it("fails a job past its deadline", async () => {
    const overdue = await create();
    await sql`UPDATE jobs SET deadline_at = now() WHERE id = ${overdue}`.execute(harness.database);
    await janitorRuns(harness);
    expect((await ask(`/${overdue}`)).json.error.code).toBe("deadline_exceeded");
  });

  it("fails, free, what no worker has begun by its start_deadline", async () => {
    const { front, account, database } = harness;
    const begin = (seconds: number) =>
      createJob(front, account.key, { ...BODY, start_deadline: seconds });
    const begun = await begin(60);
    const lease = await claim(front, begun);
    const missed = await begin(0.3);
    await vi.waitFor(async () => {
      const { status, error, cost } = (await ask(`/${missed}`)).json;
      expect([status, error?.code, cost.final]).toEqual(["failed", "start_deadline_exceeded", 0]);
      expect(error.message).toContain("its start_deadline of 0.3");
    }, SOON);
    const refused = await begin(3_600);
    await sql`UPDATE jobs SET start_deadline_at = now() WHERE id IN (${refused}, ${begun})`.execute(
      database,
    );
    expect((await handlers().claim(refused, "worker-1")).outcome).toBe("already-done");
    expect((await ask(`/${refused}`)).json.error.code).toBe("start_deadline_exceeded");
    await lapse(database, lease.jobId);
    expect((await claim(front, begun, "worker-2")).attempt).toBe(2);
  });

  it("refuses a start_deadline that is past, too far or no number", async () => {
    for (const given of [0, -1, 86_401, "soon", "-2", true, []]) {
      const { status, json } = await ask("", { body: { ...BODY, start_deadline: given } });
      expect([status, json.error.param]).toEqual([400, "start_deadline"]);
      expect(json.error.message).toContain("above 0 and at most 86400, got");
    }
    const reply = { model: "service-words-1", messages: [{ role: "user", content: "Hi" }] };
    const asked = await call(`${harness.front.baseUrl}/chat/completions`, {
      key: harness.account.key,
      body: { ...reply, start_deadline: 0.2 },
    });
    expect([asked.status, asked.json.error.code]).toEqual([408, "start_deadline_exceeded"]);
    expect(asked.headers.get("x-should-retry")).toBe("false");
  });

  it("republishes jobs that the queue lost", async () => {
    // A replica is quiet for 10 s after its start, then its janitor looks every 5 s: by this clock.
    vi.useFakeTimers({ toFake: ["performance", "setInterval", "clearInterval"] });
    const front = await harness.startReplica();
    const seen = new Set<string>();
    const subscription = await harness.broker.consume(
      { routingKeys: [`video.${MODEL}`], prefetch: 1_000 },
      async ({ job }) => {
        seen.add(job.id);
        return { type: "ack" };
      },
    );
    const lost = await create();
    await expect.poll(() => seen.has(lost), SOON).toBe(true);
    seen.clear();
    await sql`UPDATE jobs SET republish_after = now() WHERE id = ${lost}`.execute(harness.database);
    vi.advanceTimersByTime(15_000);
    await expect.poll(() => seen.has(lost), SOON).toBe(true);
    await subscription.stop();
    await front.close();
  });
});
