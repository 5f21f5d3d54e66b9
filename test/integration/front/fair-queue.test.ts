import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Subscription } from "#framemill/queue/broker.js";
import { sql } from "#framemill/front/ledger/database/sql.js";
import {
  claim,
  completion,
  createJob,
  MODEL,
  SOON,
  startHarness,
  upload,
  type Account,
  type Harness,
} from "../../support/front-harness.js";

describe("the fair queue of projects", () => {
  let harness: Harness;
  beforeAll(async () => {
    harness = await startHarness();
  });
  afterAll(async () => await harness?.close());

  const flood = async ({ key }: Account, count: number): Promise<string[]> => {
    const ids: string[] = [];
    while (ids.length < count) ids.push(await createJob(harness.front, key));
    return ids;
  };

  /** One worker with one slot; `order` lists what it ran, and `onStart` hears of it. */
  async function serve(onStart: (order: readonly string[]) => Promise<void> = async () => {}) {
    const order: string[] = [];
    const intake = { routingKeys: [`video.${MODEL}`], prefetch: 1 };
    const worker: Subscription = await harness.broker.consume(intake, async ({ job: { id } }) => {
      const result = await harness.front.handlers.claim(id, "worker");
      if (result.outcome !== "leased") return { type: "ack" };
      order.push(id);
      await onStart(order);
      const files = await upload(harness.store, result.lease, Buffer.from("x"));
      await harness.front.handlers.complete(completion(result.lease, files));
      await keepReleasesYoung();
      return { type: "ack" };
    });
    return { order, stop: () => worker.stop() };
  }

  /** A job of another project gives way to a released one for two seconds: here as long as it takes. */
  const keepReleasesYoung = () =>
    sql`UPDATE jobs SET released_at = now() WHERE state = 'queued' AND released_at IS NOT NULL`.execute(
      harness.database,
    );

  it("serves another project's first job next, with a hundred queued before it", async () => {
    const [many, one] = [await harness.createAccount(), await harness.createAccount()];
    const floods = await Promise.all(Array.from({ length: 10 }, () => flood(many, 10)));
    let urgentId = "";
    const worker = await serve(async ({ length }) => {
      if (length === 3) urgentId = await createJob(harness.front, one.key);
    });
    await expect.poll(() => worker.order.length, SOON).toBeGreaterThan(20);
    await worker.stop();
    expect(worker.order.indexOf(urgentId)).toBe(3);
    const others = worker.order.filter((id) => id !== urgentId);
    expect(new Set(others).size).toBe(others.length);
    expect(floods.flat()).toEqual(expect.arrayContaining(others));
    // A worker can tell that jobs are of one project.
    const tenantOf = (jobId: string) =>
      harness.published.find(({ id }) => id === jobId)?.tenant ?? "none";
    expect([...new Set(others.map(tenantOf))]).toEqual([expect.stringMatching(/^[0-9a-f]{32}$/)]);
    expect(tenantOf(urgentId)).not.toBe(tenantOf(others[0] ?? ""));
    await sql`UPDATE jobs SET state = 'failed', ended_at = now() WHERE state = 'queued'`.execute(
      harness.database,
    );
  });

  it("serves projects by their weights while all of them have queued jobs", async () => {
    const light = await harness.createAccount({ weight: 1 });
    const heavy = await harness.createAccount({ weight: 3 });
    const [few, more] = [await flood(light, 40), new Set(await flood(heavy, 40))];
    const worker = await serve();
    await expect.poll(() => worker.order.length, SOON).toBe(80);
    await worker.stop();
    const share = worker.order.slice(0, 40).filter((id) => more.has(id)).length;
    expect(share).toBeGreaterThanOrEqual(29);
    expect(share).toBeLessThanOrEqual(31);
    expect(new Set(worker.order)).toEqual(new Set([...few, ...more]));
  });

  it("keeps the broker's queue short, and lets a stuck job of another project delay no other", async () => {
    const [stuck, next] = [await harness.createAccount(), await harness.createAccount()];
    const [first = "", second = ""] = await flood(next, 2);
    await claim(harness.front, first);
    const [lost = ""] = await flood(stuck, 1);
    await flood(next, 20);
    const { rows } = await sql<{ released: number }>`SELECT count(released_at)::int AS released
      FROM jobs WHERE state = 'queued'`.execute(harness.database);
    expect(rows[0]?.released).toBe(4);
    // Its message never comes: for two seconds the other project gives way.
    await keepReleasesYoung();
    expect(await harness.front.handlers.claim(second, "w")).toMatchObject({
      outcome: "already-done",
    });
    await sql`UPDATE jobs SET released_at = now() - interval '2 seconds' WHERE id = ${lost}`.execute(
      harness.database,
    );
    expect(await harness.front.handlers.claim(second, "w")).toMatchObject({ outcome: "leased" });
    expect(await harness.front.handlers.claim(lost, "w")).toMatchObject({ outcome: "leased" });
  });

  it("publishes a job that came back to the ledger before its first message was forgotten", async () => {
    const account = await harness.createAccount();
    await flood(account, 4);
    const [id = ""] = await flood(account, 1);
    const db = harness.database;
    // As a front has it whose message is out.
    await sql`INSERT INTO outbox (job_id, locked_until) VALUES (${id}, now() + interval '1 hour')
      ON CONFLICT (job_id) DO UPDATE SET locked_until = excluded.locked_until`.execute(db);
    await sql`UPDATE jobs SET released_at = NULL WHERE id = ${id}`.execute(db);
    const sent = () => harness.published.filter((job) => job.id === id).length;
    const before = sent();
    await sql`UPDATE jobs SET state = 'failed', ended_at = now()
      WHERE state = 'queued' AND id <> ${id}`.execute(db);
    await expect.poll(sent, SOON).toBe(before + 1);
  });
});
