import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { addAdminRoutes } from "#framemill/front/operations/admin.js";
import type { Front } from "#framemill/front/front.js";
import { createOperations } from "#framemill/front/operations/operations.js";
import {
  type Account,
  call,
  claim,
  createJob,
  type Harness,
  makeClip,
  MODEL,
  SOON,
  PNG_URL,
  startHarness,
} from "../../support/front-harness.js";

const ADMIN_KEY = "an-admin-key-of-some-length";

describe("an operator", () => {
  let harness: Harness;
  let front: Front;
  let other: Account;
  beforeAll(async () => {
    harness = await startHarness();
    front = await harness.startReplica({
      addPages(app, { keys, database }) {
        const operations = createOperations(database, keys, harness.broker.deadLetters);
        addAdminRoutes(app, operations, [{ name: "admin", key: ADMIN_KEY }]);
      },
    });
    other = await harness.createAccount();
  });
  afterAll(async () => await harness?.close());

  const ask = (path: string, method = "GET") =>
    call(`${front.origin}/admin${path}`, { key: ADMIN_KEY, method });
  const idsOf = async (path: string): Promise<string[]> =>
    (await ask(path)).json.map(({ id }: { readonly id: string }) => id);
  const fail = async (id: string) =>
    await front.handlers.fail({
      ...(await claim(front, id)),
      failure: { code: "encoder_failed", message: "ffmpeg left with 1" },
      retryable: false,
      gpuMs: 70,
    });

  it("retries a failed job as a new one, which is charged like any other", async () => {
    const { project, key } = await harness.createAccount();
    const id = await createJob(front, key);
    expect((await ask(`/jobs/${id}/retry`, "POST")).text).toContain("only a failed job");
    await fail(id);
    const { json } = await ask(`/jobs/${id}/retry`, "POST");
    expect(json.retryOf).toBe(id);
    const again = await call(`${front.baseUrl}/videos/${json.id}`, { key });
    expect(again.json).toMatchObject({ status: "queued", prompt: "a fox in the snow" });
    await expect.poll(() => harness.published.some((job) => job.id === json.id), SOON).toBe(true);
    await claim(front, json.id);
    expect((await ask(`/jobs/${id}`)).json).toMatchObject({ state: "failed", attempts: 1 });
    await front.keys.setLimits(project.id, { monthlyLimitMicroUsd: 1 });
    expect((await ask(`/jobs/${id}/retry`, "POST")).json.error.code).toBe("insufficient_quota");
  });

  it("pages through jobs and narrows them by state, model, project and time", async () => {
    const since = new Date().toISOString();
    const mine: string[] = [];
    for (let count = 0; count < 3; count += 1)
      mine.push(await createJob(front, harness.account.key));
    const theirs = await createJob(front, other.key);
    const done = await makeClip(harness, other.key);
    const newestFirst = [done, theirs, ...mine.toReversed()];
    expect(await idsOf(`/jobs?since=${since}`)).toEqual(newestFirst);
    const [first, second] = await idsOf("/jobs?limit=2");
    expect([first, second, ...(await idsOf(`/jobs?limit=3&after=${second}`))]).toEqual(newestFirst);
    expect(await idsOf(`/jobs?state=completed&since=${since}`)).toEqual([done]);
    expect(await idsOf(`/jobs?project=${other.project.id}&state=queued`)).toEqual([theirs]);
    expect(await idsOf("/jobs?model=another")).toEqual([]);
    expect((await ask("/jobs?after=video_none")).status).toBe(404);
    expect((await ask("/jobs?colour=red")).status).toBe(400);
  });

  it("sees the outcome of every attempt of a job, and not its request", async () => {
    const id = await createJob(front, harness.account.key);
    await fail(id);
    const { json, text } = await ask(`/jobs/${id}`);
    expect(json).toMatchObject({
      state: "failed",
      failure: { code: "encoder_failed", message: "ffmpeg left with 1" },
      runs: [{ token: 1, workerId: "worker-1", outcome: "encoder_failed", gpuMs: 70 }],
      chargedMicroUsd: 0,
    });
    expect(text).not.toContain("fox in the snow");
    expect((await ask("/jobs/video_none")).status).toBe(404);
  });

  it("cancels a job of any project, once", async () => {
    const id = await createJob(front, other.key);
    expect((await ask(`/jobs/${id}/cancel`, "POST")).json).toEqual({ cancelled: true });
    expect((await ask(`/jobs/${id}/cancel`, "POST")).json).toEqual({ cancelled: false });
    expect((await ask(`/jobs/${id}`)).json).toMatchObject({ failureCode: "cancelled" });
  });

  it("cannot retry a job whose input file was removed", async () => {
    const { key } = harness.account;
    const body = { model: MODEL, prompt: "a fox", seconds: 4, image: PNG_URL };
    const id = await createJob(front, key, body);
    await fail(id);
    const { status, text } = await ask(`/jobs/${id}/retry`, "POST");
    expect(status).toBe(400);
    expect(text).toContain("send it again");
  });

  it("reads what each project spent on each model, and what each queue holds", async () => {
    const { project, key, keyId } = await harness.createAccount();
    await makeClip(harness, key);
    await makeClip(harness, key);
    await createJob(front, key);
    expect((await ask(`/usage?project=${project.id}`)).json).toEqual([
      {
        projectId: project.id,
        project: project.name,
        modality: "video",
        model: MODEL,
        jobs: 2,
        units: { videoSeconds: 8 },
        tier: "standard",
        serviceTier: "default",
        chargedMicroUsd: 1_440_000,
        chargedNanoUsd: 1_440_000_000,
        gpuMs: 2_468,
      },
    ]);
    expect((await ask("/usage?until=2020-01-01")).json).toEqual([]);
    expect((await ask("/usage?since=yesterday")).json.error.param).toBe("since");
    expect((await ask("/usage?by=project,colour")).json.error.message).toContain("day,project,key");
    const today = new Date().toISOString().slice(0, 10);
    const own = `project=${project.id}&since=24h`;
    const table = await ask(`/usage?${own}&by=day,key&format=csv`);
    expect(table.headers.get("content-type")).toMatch(/^text\/csv/);
    expect(table.text.split("\r\n")).toEqual([
      "day,project_id,project,key_id,key,modality,model,tier,service_tier,jobs,input_tokens,output_tokens," +
        "images,audio_seconds,video_seconds,characters,searches,worker_seconds,charged_usd",
      `${today},,,${keyId},test,,,,,2,0,0,0,0,8,0,0,2.468,1.440000000`,
      "",
    ]);
    const month = today.slice(0, 7);
    expect((await ask(`/invoices?project=${project.id}&month=${month}`)).json).toMatchObject({
      month,
      isClosed: false,
      invoices: [{ project: project.name, chargedNanoUsd: 1_440_000_000, amountCents: 144 }],
      amountCents: 144,
    });
    expect((await ask("/invoices?month=2026-13")).json.error.param).toBe("month");
    const [queue] = (await ask("/queues")).json;
    expect(queue).toMatchObject({ modality: "video", model: MODEL });
    expect(queue.queued + queue.waitingForTurn).toBeGreaterThan(0);
    expect(queue.completed).toBeGreaterThanOrEqual(2);
    expect(queue.waitSecondsP50).toBeGreaterThanOrEqual(0);
  });
});
