import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createOperations, type Operations } from "#framemill/front/operations/operations.js";
import type { Worker } from "#framemill/worker/worker.js";
import { say, type Script, startScriptedWorker, words } from "../../support/front-workers.js";
import {
  type Account,
  call,
  createJob,
  MODEL,
  SOON,
  startHarness,
  type Harness,
} from "../../support/front-harness.js";

describe("what the front serves to its pages", () => {
  let harness: Harness;
  let operations: Operations;
  let worker: Worker;
  let stranger: Account;
  let release = new AbortController();

  /** A clip is shown twice and then waits to be released; words are said at once. */
  const script: Script = async function* ({ job, scratchPath }) {
    if (job.modality !== "video") {
      yield { type: "output", output: words("said") };
      return;
    }
    const { signal } = release;
    yield { type: "preview", bytes: Buffer.from("first") };
    yield { type: "progress", stage: "frames", fraction: 0.5 };
    yield { type: "preview", bytes: Buffer.from("second") };
    if (!signal.aborted) await once(signal, "abort");
    for (const [variant, mediaType] of [
      ["content", "video/mp4"],
      ["thumbnail", "image/webp"],
    ] as const) {
      const path = join(scratchPath, `${variant}.${mediaType.split("/")[1]}`);
      await writeFile(path, `the ${variant}`);
      yield { type: "file", variant, path, mediaType };
    }
    yield { type: "output", output: { frameCount: 96 } };
  };
  const ask = (path: string, account: Account = harness.account, method = "GET") =>
    call(`${harness.front.baseUrl}${path}`, { key: account.key, method });

  const finish = async (id: string) => {
    const status = async () => (await ask(`/videos/${id}?wait=20`)).json.status as string;
    await expect.poll(status, SOON).toBe("completed");
  };

  beforeAll(async () => {
    harness = await startHarness();
    operations = createOperations(harness.database, harness.front.keys);
    stranger = await harness.createAccount();
    worker = await startScriptedWorker(harness, script, ({ id }) => id !== "service-words-2");
  });
  afterAll(async () => {
    release.abort();
    await worker?.stop();
    await harness?.close();
  });

  it("shows a running clip's newest picture to its project only, and its thumbnail afterwards", async () => {
    release = new AbortController();
    const id = await createJob(harness.front, harness.account.key);
    const waiting = await createJob(harness.front, harness.account.key);
    const path = `/videos/${id}/preview`;
    await expect.poll(async () => (await ask(path)).text, SOON).toBe("second");
    const shown = await ask(path);
    expect([shown.status, shown.headers.get("content-type")]).toEqual([200, "image/webp"]);
    expect(shown.headers.get("cache-control")).toBe("no-store");
    expect((await ask(path, stranger)).status).toBe(404);
    expect((await ask(`/videos/${waiting}/preview`)).status).toBe(204);
    await ask(`/videos/${waiting}/cancel`, harness.account, "POST");
    expect((await ask(`/videos/${waiting}/preview`)).json.error.code).toBe("video_failed");
    release.abort();
    await finish(id);
    expect((await ask(path)).text).toBe("the thumbnail");
    const previews = () => harness.store.list(`${id}/1/preview/`);
    await expect.poll(previews, SOON).toEqual([]);
  });

  it("gives a link that plays a clip without a key, by ranges, until it is deleted", async () => {
    release = new AbortController();
    const id = await createJob(harness.front, harness.account.key);
    const early = await ask(`/videos/${id}/link`);
    expect([early.status, early.json.error.code]).toEqual([409, "video_not_ready"]);
    release.abort();
    await finish(id);
    expect((await ask(`/videos/${id}/link`, stranger)).status).toBe(404);
    const { json } = await ask(`/videos/${id}/link`);
    expect(json).toMatchObject({ object: "link", media_type: "video/mp4", expires_in: 3_600 });
    const part = await call(json.url, { headers: { range: "bytes=4-6" } });
    expect([part.status, part.text]).toEqual([206, "con"]);
    await ask(`/videos/${id}`, harness.account, "DELETE");
    expect((await call(json.url)).status).toBe(404);
  });

  it("shows an answer's charge to its project only", async () => {
    const url = `${harness.front.baseUrl}/chat/completions`;
    const answer = await call(url, { key: harness.account.key, body: say("hello") });
    const id = answer.headers.get("x-job-id") ?? "";
    expect(id).toBe(answer.json.id);
    const { json } = await ask(`/charges/${id}`);
    expect(json).toMatchObject({ id, object: "charge", currency: "usd" });
    expect(json.units).toEqual({ inputTokens: 10, outputTokens: 5 });
    expect(json.amount).toBeGreaterThan(0);
    expect((await ask(`/charges/${id}`, stranger)).status).toBe(404);
  });

  it("names the endpoints that a model serves", async () => {
    const { json } = await ask("/models/service-words-1");
    expect(json.endpoints).toEqual(["/v1/chat/completions", "/v1/completions", "/v1/responses"]);
  });

  it("shows operators queues, waits, ends by the minute, failures and charges", async () => {
    release = new AbortController();
    const [running] = [
      await createJob(harness.front, stranger.key),
      await createJob(harness.front, stranger.key),
    ];
    const state = async () => (await ask(`/videos/${running}`, stranger)).json.status as string;
    await expect.poll(state, SOON).toBe("in_progress");
    const { queues, paces, minutes, failures, spending } = await operations.readOverview();
    expect(queues).toMatchObject([{ modality: "video", model: MODEL, queued: 1, running: 1 }]);
    expect(queues[0]?.oldestSeconds).toBeGreaterThan(0);
    const clips = paces.find(({ model }) => model === MODEL);
    // The clip that was deleted afterwards was made, and is paid.
    expect(clips).toMatchObject({ completed: 2, failed: 0 });
    expect(clips?.runMedian).toBeGreaterThan(0);
    expect(minutes).toHaveLength(60);
    const ended = minutes.reduce((sum, { completed, failed }) => sum + completed + failed, 0);
    expect(ended).toBe(3);
    expect(failures).toMatchObject([{ code: "cancelled", model: MODEL, jobs: 1 }]);
    const moneyOf = ({ project }: Account) =>
      spending.find(({ projectId }) => projectId === project.id);
    expect(moneyOf(harness.account)?.monthMicroUsd).toBeGreaterThanOrEqual(1_440_000);
    expect(moneyOf(harness.account)).toMatchObject({ jobsThisMonth: 3, reservedMicroUsd: 0 });
    expect(moneyOf(stranger)).toMatchObject({ todayMicroUsd: 0, reservedMicroUsd: 1_440_000 });
    release.abort();
  });
});
