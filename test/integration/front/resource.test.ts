import { sql } from "#framemill/front/ledger/database/sql.js";
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { until } from "../../support/queue-harness.js";
import type { Lease } from "#framemill/core/job.js";
import {
  BODY,
  call,
  claim,
  completion,
  countCharges,
  createJob,
  janitorRuns,
  makeClip,
  openaiClient,
  startHarness,
  upload,
  type CallOptions,
  type Harness,
} from "../../support/front-harness.js";

const BYTES = Buffer.from("0123456789");

describe("the video resource", () => {
  let harness: Harness;
  const ask = (path: string, options: CallOptions = {}) =>
    call(`${harness.front.baseUrl}/videos${path}`, { key: harness.account.key, ...options });
  const create = () => createJob(harness.front, harness.account.key);
  const handlers = () => harness.front.handlers;
  const complete = async (lease: Lease) =>
    await handlers().complete(completion(lease, await upload(harness.store, lease, BYTES)));

  beforeAll(async () => {
    harness = await startHarness();
  });
  afterEach(() => void vi.useRealTimers());
  afterAll(async () => await harness?.close());

  it("takes a clip from creation to deletion with the stock client", async () => {
    const client = openaiClient(harness.front, harness.account.key);
    const created = await client.videos.create({ ...BODY, seconds: "4" });
    expect(created).toMatchObject({ object: "video", status: "queued", progress: 0, seconds: "4" });
    expect(created.id).toMatch(/^video_[0-9a-f]{32}$/);
    const pending = client.videos.downloadContent(created.id);
    await expect(pending).rejects.toMatchObject({ status: 409, code: "video_not_ready" });

    const lease = await claim(harness.front, created.id);
    await handlers().progress({ ...lease, fraction: 0.5, stage: "steps" });
    const running = await client.videos.retrieve(created.id);
    expect(running).toMatchObject({ status: "in_progress", progress: 50, completed_at: null });
    await complete(lease);

    const done = await client.videos.retrieve(created.id);
    expect(done).toMatchObject({ status: "completed", progress: 100, error: null });
    expect(done.expires_at).toBe((done.completed_at ?? 0) + 86_400);
    expect(done).toMatchObject({
      cost: { currency: "usd", per_second: 0.18, amount: 0.72, final: 0.72 },
    });
    const file = await client.videos.downloadContent(created.id);
    expect(Buffer.from(await file.arrayBuffer())).toEqual(BYTES);
    const page = await client.videos.list({ limit: 1 });
    expect(page.data[0]?.id).toBe(created.id);
    expect(await client.videos.delete(created.id)).toEqual({
      id: created.id,
      object: "video.deleted",
      deleted: true,
    });
    await expect(client.videos.retrieve(created.id)).rejects.toMatchObject({ status: 404 });
    expect(await harness.store.list(`${created.id}/`)).toEqual([]);
    expect(await countCharges(harness.database, created.id)).toBe(1);
  });

  it("serves whole files, ranges, conditions, HEAD and variants", async () => {
    const id = await makeClip(harness, harness.account.key, BYTES);
    const whole = await ask(`/${id}/content`);
    expect([whole.status, whole.text]).toEqual([200, "0123456789"]);
    const etag = whole.headers.get("etag") ?? "";
    expect(Object.fromEntries(whole.headers)).toMatchObject({
      "accept-ranges": "bytes",
      "content-length": "10",
      "content-type": "video/mp4",
      "content-disposition": `attachment; filename="${id}.mp4"`,
    });
    const ranges: [range: string, extra: Record<string, string>, status: number, text: string][] = [
      ["bytes=2-4", {}, 206, "234"],
      ["bytes=7-", {}, 206, "789"],
      ["bytes=-3", {}, 206, "789"],
      ["bytes=5-99", {}, 206, "56789"],
      ["bytes=2-4", { "if-range": etag }, 206, "234"],
      ["bytes=2-4", { "if-range": '"other"' }, 200, "0123456789"],
      ["bytes=4-2", {}, 200, "0123456789"],
      ["lines=1-2", {}, 200, "0123456789"],
    ];
    for (const [range, extra, status, text] of ranges) {
      const answer = await ask(`/${id}/content`, { headers: { range, ...extra } });
      expect([range, answer.status, answer.text]).toEqual([range, status, text]);
    }
    const beyond = await ask(`/${id}/content`, { headers: { range: "bytes=10-" } });
    expect([beyond.status, beyond.headers.get("content-range")]).toEqual([416, "bytes */10"]);
    expect(beyond.json.error.code).toBe("range_not_satisfiable");
    const head = await ask(`/${id}/content`, { method: "HEAD" });
    expect([head.status, head.headers.get("content-length"), head.text]).toEqual([200, "10", ""]);
    const thumbnail = await ask(`/${id}/content?variant=thumbnail`);
    expect([thumbnail.status, thumbnail.headers.get("content-type")]).toEqual([200, "image/webp"]);
    expect((await ask(`/${id}/content?variant=video`)).status).toBe(200);
    expect((await ask(`/${id}/content?variant=spritesheet`)).status).toBe(404);
    expect((await ask(`/${id}/content?variant=other`)).json.error.param).toBe("variant");
  });

  it("answers 410 after 24 hours and removes the files", async () => {
    const id = await makeClip(harness, harness.account.key);
    await sql`UPDATE jobs SET expires_at = now() - interval '1 second' WHERE id = ${id}`.execute(
      harness.database,
    );
    const answer = await ask(`/${id}/content`);
    expect([answer.status, answer.json.error.code]).toEqual([410, "video_expired"]);
    await janitorRuns(harness);
    expect(await harness.store.list(`${id}/`)).toEqual([]);
    expect((await ask(`/${id}`)).json.status).toBe("completed");
  });

  it("waits for the end across replicas, and streams every change", async () => {
    const replica = await harness.startReplica();
    const { key } = harness.account;
    const id = await create();
    const stream = await fetch(`${replica.baseUrl}/videos/${id}/events`, {
      headers: { authorization: `Bearer ${key}` },
    });
    const { headers, body } = stream;
    expect(headers.get("content-type")).toMatch(/^text\/event-stream/);
    expect(headers.get("x-request-id")).toMatch(/^req_/);
    expect(headers.get("x-ratelimit-remaining-requests")).toMatch(/^\d+$/);
    const waiting = call(`${replica.baseUrl}/videos/${id}?wait=60`, { key });
    const short = await ask(`/${id}?wait=1`);
    expect(short.json.status).toBe("queued");
    const lease = await claim(harness.front, id);
    await handlers().progress({ ...lease, fraction: 0.3, stage: "steps" });

    let text = "";
    let completing: Promise<unknown> | undefined;
    for await (const piece of body?.pipeThrough(new TextDecoderStream()) ?? []) {
      text += piece;
      if (statesIn(text).at(-1) === "in_progress") completing ??= complete(lease);
    }
    await completing;
    const states = statesIn(text);
    expect(states[0]).toBe("queued");
    expect(states.at(-1)).toBe("completed");
    expect((await waiting).json.status).toBe("completed");
    await replica.close();
  });

  it("estimates from measured runs, and says null before there are any", async () => {
    const id = await create();
    const [lease] = [await claim(harness.front, id)];
    await sql`UPDATE attempts SET started_at = now() - interval '1 hour' WHERE outcome = 'completed'
      OR outcome IS NULL`.execute(harness.database);
    await complete(lease);
    const db = harness.database;
    // The hour is noted, among the moments that other jobs took: then it counts alone.
    const hours = sql`UPDATE paces SET lasted_seconds = ARRAY[900] WHERE 800 < ANY(lasted_seconds)
      RETURNING model`;
    await until(async () => (await hours.execute(db)).rows.length === 1);
    const next = await create();
    const high = await createJob(harness.front, harness.account.key, { ...BODY, quality: "high" });
    await claim(harness.front, next);
    // A replica that has just started has measured nothing before.
    const { baseUrl, close } = await harness.startReplica();
    const etaOf = async (clip: string) =>
      (await call(`${baseUrl}/videos/${clip}`, { key: harness.account.key })).json.eta_seconds;
    expect(await etaOf(next)).toBeGreaterThan(0);
    expect(await etaOf(high)).toBeNull();
    await close();
  });

  it("pages through a list in both directions", async () => {
    const { key } = await harness.createAccount();
    const ids: string[] = [];
    for (let index = 0; index < 5; index += 1) ids.push(await createJob(harness.front, key));
    const first = (await ask("?limit=2&order=asc", { key })).json;
    expect(first).toMatchObject({
      object: "list",
      first_id: ids[0],
      last_id: ids[1],
      has_more: true,
    });
    const rest = (await ask(`?limit=3&order=asc&after=${ids[1]}`, { key })).json;
    expect(rest.data.map((job: { id: string }) => job.id)).toEqual(ids.slice(2));
    expect(rest.has_more).toBe(false);
    const newest = (await ask("", { key })).json;
    expect(newest.data.map((job: { id: string }) => job.id)).toEqual(ids.toReversed());
    const positions = newest.data.map((job: { queue_position: number }) => job.queue_position);
    expect(positions).toEqual(positions.toSorted((a: number, b: number) => b - a));
  });

  // Last: what sets a timer meanwhile waits for ever.
  it("is notified of the end without polling the database", async () => {
    const id = await create();
    const lease = await claim(harness.front, id);
    // The clock stands still: the time to ask again never comes.
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const waiting = ask(`/${id}?wait=60`);
    await complete(lease);
    expect((await waiting).json.status).toBe("completed");
  });
});

/** States in the events of a stream so far. */
function statesIn(text: string): string[] {
  return text
    .split("\n\n")
    .slice(0, -1)
    .filter((event) => event.startsWith("data: "))
    .map((event) => (JSON.parse(event.slice(6)) as { status: string }).status);
}
